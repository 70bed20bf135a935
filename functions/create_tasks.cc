#include "functions/functions.h"
#include "functions/queue/attributes.h"

namespace freshet {

Async<Result<std::string>> create_tasks(Context& context, Queues& queues, const EventLog& log) {
  auto settings = create_settings(context.function.environment);
  if (!settings) co_return fail(settings.error());
  auto defaults = queue_settings(context.function.environment);
  if (!defaults) co_return fail(defaults.error());
  auto queue = queues.find_queue(settings->queue_table);
  if (!queue) {
    auto opened = co_await queues.open(settings->queue_table, *defaults);
    if (!opened) co_return fail(opened.error());
    queue = *opened;
  }
  log.info("CREATE_TASKS_BEGIN",
           {{"function", context.function.name}, {"queue", settings->queue_table}, {"tasks", settings->tasks}});
  for (int i = 0; i < settings->tasks; ++i) {
    if (settings->interval.count() > 0) co_await sleep_for(context.services.scheduler, settings->interval);
    std::vector<NewTask> tasks(1);
    tasks[0].ttl = settings->ttl;
    auto created = co_await queue->create(std::move(tasks));
    if (!created[0]) co_return fail(created[0].error());
    log.info("CREATE_TASK",
             {{"function", context.function.name}, {"taskId", created[0]->id}, {"taskStatus", state::kPending}});
  }
  log.info("CREATE_TASKS_END", {{"function", context.function.name}, {"queue", settings->queue_table}});
  co_return std::string("null");
}

}  // namespace freshet
