// The task API on the daemon's port: /queues/... (docs/task-api.md).
#pragma once

#include <memory>

#include "base/clock.h"
#include "runtime/ports.h"
#include "runtime/task_queue.h"

namespace freshet {

// Both outlive the route.
std::unique_ptr<Route> make_task_route(TaskQueues& queues, const Clock& clock);

}  // namespace freshet
