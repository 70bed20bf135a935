// Serves the priority queues on the daemon's port: /priority/... (docs/priority-queue.md).
#pragma once

#include <memory>

#include "runtime/ports.h"
#include "runtime/priority_queue.h"

namespace freshet {

// The queues outlive the route.
std::unique_ptr<Route> make_priority_route(PriorityQueues& queues);

}  // namespace freshet
