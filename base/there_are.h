// Lists names in a message.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace freshet {

// "there is A" or "there are A, B"; beyond `most` names, "and 5 others" follows. Needs at least one name.
std::string there_are(const std::vector<std::string>& names, size_t most = 20);

}  // namespace freshet
