// Native functions of your own, in C++ and linked in (docs/native-functions.md): the folder that FRESHET_FUNCTIONS
// names when Freshet is configured defines own_functions(). Without such a folder there are none.
#pragma once

#include <string>
#include <vector>

#include "runtime/invoke/function.h"

namespace freshet {

struct OwnFunction {
  std::string name;  // As a template's Handler says it. That of a built-in function stays the built-in one's.
  NativeHandler handler;
};

std::vector<OwnFunction> own_functions();

}  // namespace freshet
