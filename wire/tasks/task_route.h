// The task API on the daemon's port: /queues/... (docs/task-api.md).
#pragma once

#include <memory>

#include "base/clock.h"
#include "runtime/api/audit_log.h"
#include "runtime/api/create_elsewhere.h"
#include "runtime/api/queue_series.h"
#include "runtime/api/task_queue.h"
#include "runtime/ports.h"
#include "runtime/trace/recent_spans.h"

namespace freshet {

struct TaskRouteOptions {
  AuditLog* audit = nullptr;           // The audit log for changes, which GET /audit shows. Outlives the route.
  bool is_signed = false;              // True if every request must have a valid signature.
  const SeriesBook* series = nullptr;  // The history of queues, for GET /queues/NAME/series. Outlives the route.
  const RecentSpans* spans = nullptr;  // The newest spans; null: nothing is traced. Outlives the route.
  CreateElsewhere create_elsewhere = nullptr;  // For creates of queues that are not open here; null: there are none.
};

// /queues/... and /audit. Both outlive the route.
std::unique_ptr<Route> make_task_route(TaskQueues& queues, const Clock& clock, TaskRouteOptions options = {});

}  // namespace freshet
