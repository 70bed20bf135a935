// The folder of the sources, whose shipped files some tests read. In one object only, so that all others are the same
// wherever the sources lie, and a compiler cache knows them.
#pragma once

#include <string>

namespace freshet {

std::string source_dir();  // Without a slash behind it.

}  // namespace freshet
