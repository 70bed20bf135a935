// Serves the filtered queues on the daemon's port: /filtered/... (docs/filtered-queue.md).
#pragma once

#include <memory>

#include "runtime/api/filtered_queue.h"
#include "runtime/ports.h"

namespace freshet {

// The queues outlive the route.
std::unique_ptr<Route> make_filtered_route(FilteredQueues& queues);

}  // namespace freshet
