// Lists names in a message.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace freshet {

// "there is A" or "there are A, B"; of more than `most` the first ones, "and 5 others". Needs at least one name.
std::string there_are(const std::vector<std::string>& names, size_t most = 20);

}  // namespace freshet
