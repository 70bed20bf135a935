// The version of the program: that of CMake's project(), the one place where it stands.
#pragma once

namespace freshet {

// Like "0.1.0". Lives as long as the program.
const char* version();

}  // namespace freshet
