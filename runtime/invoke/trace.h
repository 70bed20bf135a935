// X-Ray trace headers: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1". Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace freshet {

// What an invocation is told: it goes on with the caller's trace, with the caller's segment as its parent, or begins
// one at `now` if `caller` names none. A caller that does not say is sampled.
std::string trace_of(std::string_view caller, WallTime now, Random& random);

}  // namespace freshet
