// Native functions of your own, in C++ and linked in (docs/native-functions.md): the folder in FRESHET_FUNCTIONS
// defines own_functions() when Freshet is configured with it. Without such a folder there are none.
#pragma once

#include <string>
#include <vector>

#include "runtime/invoke/function.h"

namespace freshet {

struct OwnFunction {
  std::string name;  // The name in a template's Handler. A built-in function with the same name takes precedence.
  NativeHandler handler;
};

std::vector<OwnFunction> own_functions();

}  // namespace freshet
