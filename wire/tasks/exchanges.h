// One exchange for each operation of the task API.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "runtime/api/audit_log.h"
#include "runtime/api/create_elsewhere.h"
#include "runtime/api/queue_series.h"
#include "runtime/api/task_queue.h"
#include "runtime/ports.h"
#include "runtime/trace/recent_spans.h"
#include "wire/tasks/requests.h"

namespace freshet::tasks {

// The objects that every exchange uses; they outlive it.
struct Desk {
  TaskQueues& queues;
  const Clock& clock;
  AuditLog* audit = nullptr;                   // Null: changes are not logged.
  const SeriesBook* series = nullptr;          // Null: queues have no history.
  const RecentSpans* spans = nullptr;          // Null: nothing is traced.
  CreateElsewhere create_elsewhere = nullptr;  // Null: a queue that is not open here is none.
};

std::unique_ptr<Exchange> refuse(Error error);
std::unique_ptr<Exchange> create(Desk& desk, std::string queue, CreateRequest request);
std::unique_ptr<Exchange> take(Desk& desk, std::string queue, TakeRequest request);
std::unique_ptr<Exchange> settle(Desk& desk, std::string queue, std::vector<Settlement> settlements);
std::unique_ptr<Exchange> cancel(Desk& desk, std::string queue, std::vector<std::string> ids, Actor actor);
std::unique_ptr<Exchange> redrive(Desk& desk, std::string queue, RedriveInput input, Actor actor);
std::unique_ptr<Exchange> get(Desk& desk, std::string queue, std::string id);
std::unique_ptr<Exchange> explain(Desk& desk, std::string queue, std::string id);
std::unique_ptr<Exchange> policy(Desk& desk, std::string queue);
std::unique_ptr<Exchange> change_policy(Desk& desk, std::string queue, PolicyRequest request, Actor actor);
std::unique_ptr<Exchange> list(Desk& desk, std::string queue, ListInput input);
std::unique_ptr<Exchange> stats(Desk& desk, std::string queue);
std::unique_ptr<Exchange> backlog(Desk& desk, std::string queue);
std::unique_ptr<Exchange> sheds(Desk& desk, std::string queue, uint32_t limit);
std::unique_ptr<Exchange> names(Desk& desk);

}  // namespace freshet::tasks
