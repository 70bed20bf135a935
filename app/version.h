// The version of the program, from CMake's project(), its only source.
#pragma once

namespace freshet {

// Like "0.1.0". Lives as long as the program.
const char* version();

}  // namespace freshet
