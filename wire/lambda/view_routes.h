// The figures of functions and the lag of event source mappings, which the Lambda API does not have.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "runtime/ports.h"
#include "runtime/runtime.h"

namespace freshet {

// GET /functions and GET /mappings (docs/task-api.md, "Look"). Neither shows an environment, which may hold passwords,
// so that keys with the role `read` may call them. The runtime and the clock outlive the routes; they answer on the
// loop.
std::vector<std::unique_ptr<Route>> make_function_view_routes(Runtime& runtime, const Clock& clock);

}  // namespace freshet
