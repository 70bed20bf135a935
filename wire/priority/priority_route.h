// Serves the priority queues on the daemon's port: /priority/... (docs/priority-queue.md).
#pragma once

#include <memory>

#include "runtime/api/priority_queue.h"
#include "runtime/ports.h"

namespace freshet {

// The queues outlive the route.
std::unique_ptr<Route> make_priority_route(PriorityQueues& queues);

}  // namespace freshet
