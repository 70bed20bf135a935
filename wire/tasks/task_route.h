// The task API on the daemon's port: /queues/... (docs/task-api.md).
#pragma once

#include <memory>

#include "base/clock.h"
#include "runtime/audit_log.h"
#include "runtime/ports.h"
#include "runtime/task_queue.h"

namespace freshet {

struct TaskRouteOptions {
  AuditLog* audit = nullptr;  // Has the lines of changes, and GET /audit shows them. Outlives the route.
  bool is_signed = false;     // Requests are let in only with a good signature.
};

// /queues/... and /audit. Both outlive the route.
std::unique_ptr<Route> make_task_route(TaskQueues& queues, const Clock& clock, TaskRouteOptions options = {});

}  // namespace freshet
