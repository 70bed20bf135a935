// The folder of the sources, whose shipped files some tests read. Only one object file contains it, so that all others
// are the same wherever the sources are, and a compiler cache finds them.
#pragma once

#include <string>

namespace freshet {

std::string source_dir();  // Without a slash behind it.

}  // namespace freshet
