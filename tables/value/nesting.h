// How deep values may be nested.
#pragma once

#include "base/limits.h"

namespace freshet {

// The most maps and lists around a value within an attribute. The service counts the attribute and the value as levels,
// too, so that the 32nd map is one too many.
inline constexpr size_t kMaxContainers = limits::kMaxNesting - 1;

}  // namespace freshet
