// The part of the Lambda API that makes, changes and deletes functions, their invoke configs and event source mappings.
// When a call is answered, everything is stored: items in the system table, uploaded code in the code store.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/runtime.h"
#include "wire/lambda/code_store.h"
#include "wire/lambda/fleet_code.h"

namespace freshet {

struct ManagementOptions {
  bool read_only = false;      // Operations that change something are answered with AccessDeniedException.
  uint64_t seed = 0;           // Seeds the request ids.
  FleetCode* fleet = nullptr;  // Outlives the route. Null without a fleet.
};
// Runtime, store and clock outlive the route. List it before make_lambda_route(), which refuses all calls that no route
// serves.
std::unique_ptr<Route> make_lambda_management_route(Runtime& runtime, CodeStore& code, const Clock& clock,
                                                    ManagementOptions options);

}  // namespace freshet
