#include "functions/functions.h"
#include "functions/queue/attributes.h"

namespace freshet {

namespace {

// The queue may move to another daemon between two tasks.
Async<Result<CreatedTask>> create_one(Queues& queues, const CreateSettings& settings) {
  std::vector<NewTask> tasks(1);
  tasks[0].ttl = settings.ttl;
  if (const auto queue = queues.find_queue(settings.queue_table)) {
    auto created = co_await queue->create(std::move(tasks));
    co_return std::move(created[0]);
  }
  if (!queues.create_elsewhere()) {
    co_return fail(ErrorCode::kUnavailable, "queue '" + settings.queue_table + "' is not served any more");
  }
  auto created = co_await queues.create_elsewhere()(settings.queue_table, std::move(tasks));
  if (!created) co_return fail(std::move(created.error()));
  co_return std::move((*created)[0]);
}

}  // namespace

Async<Result<std::string>> create_tasks(Context& context, Queues& queues, const EventLog& log) {
  auto settings = create_settings(context.function.environment);
  if (!settings) co_return fail(settings.error());
  auto defaults = queue_settings(context.function.environment);
  if (!defaults) co_return fail(defaults.error());
  // In a fleet, only the fleet opens queues.
  if (!queues.find_queue(settings->queue_table) && !queues.create_elsewhere()) {
    auto opened = co_await queues.open(settings->queue_table, *defaults);
    if (!opened) co_return fail(opened.error());
  }
  log.info("CREATE_TASKS_BEGIN",
           {{"function", context.function.name}, {"queue", settings->queue_table}, {"tasks", settings->tasks}});
  for (int i = 0; i < settings->tasks; ++i) {
    if (settings->interval.count() > 0) co_await sleep_for(context.services.scheduler, settings->interval);
    auto created = co_await create_one(queues, *settings);
    if (!created) co_return fail(created.error());
    log.info("CREATE_TASK",
             {{"function", context.function.name}, {"taskId", created->id}, {"taskStatus", state::kPending}});
  }
  log.info("CREATE_TASKS_END", {{"function", context.function.name}, {"queue", settings->queue_table}});
  co_return std::string("null");
}

}  // namespace freshet
