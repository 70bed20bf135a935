// The part of the Lambda API that makes, changes and deletes functions, their invoke configs and event source mappings.
// Everything is an item of the system table when it is answered, uploaded code a folder of the code store.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/runtime.h"
#include "wire/lambda/code_store.h"

namespace freshet {

struct ManagementOptions {
  bool read_only = false;  // Operations that change anything are answered AccessDeniedException.
  uint64_t seed = 0;       // Seeds the request ids.
};
// Runtime, store and clock outlive the route. Stands before make_lambda_route(), which says no to what nobody serves.
std::unique_ptr<Route> make_lambda_management_route(Runtime& runtime, CodeStore& code, const Clock& clock,
                                                    ManagementOptions options);

}  // namespace freshet
