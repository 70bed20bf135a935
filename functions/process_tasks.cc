#include <memory>

#include "functions/functions.h"
#include "functions/processor.h"
#include "functions/runners/run_sharing.h"
#include "functions/runners/traced_runner.h"
#include "streams/topics.h"

namespace freshet {

namespace {

std::string report(const Processor::Counts& counts, size_t left, bool tail_call) {
  std::string out = "{\"taken\":" + std::to_string(counts.taken);
  out += ",\"succeeded\":" + std::to_string(counts.succeeded);
  out += ",\"failed\":" + std::to_string(counts.failed);
  out += ",\"bounced\":" + std::to_string(counts.bounced);
  out += ",\"shed\":" + std::to_string(counts.shed);
  out += ",\"lost\":" + std::to_string(counts.lost);
  if (left > 0) out += ",\"left\":" + std::to_string(left);
  return out + ",\"tailCall\":" + (tail_call ? "true}" : "false}");
}

// A run of the processor with everything that it needs, so that it can outlive its invocation.
class Run {
 public:
  Run(Context& context, Queue& queue, std::unique_ptr<Runner> runner, const ProcessSettings& settings,
      const EventLog& log)
      : services_(context.services_kept),
        runner_(std::move(runner)),
        processor_(context, queue, *runner_, settings, log) {}
  Processor& processor() { return processor_; }

 private:
  const std::shared_ptr<const void> services_;
  const std::unique_ptr<Runner> runner_;
  Processor processor_;
};

Async<void> finish(std::unique_ptr<Run> run) {
  co_await run->processor().finish();
}

// Publishes `Start` if tasks are left that could be taken now.
Async<Result<bool>> tail_call(Context& context, Queue& queue, const ProcessSettings& settings, const EventLog& log) {
  if (settings.trigger_topic.empty() || queue.draining()) co_return false;
  auto left = co_await queue.has_work();
  if (!left) co_return fail(left.error());
  if (!*left) co_return false;
  PublishInput input{settings.trigger_topic, "Start", "", {}};
  auto published = co_await context.services.topics.publish(std::move(input));
  if (!published) co_return fail(published.error());
  log.info("TAIL_CALL_TRIGGER",
           {{"function", context.function.name}, {"queue", settings.queue_table}, {"messageId", *published}});
  co_return true;
}

}  // namespace

Async<Result<std::string>> process_tasks(Context& context, Queues& queues, const EventLog& log) {
  auto settings = process_settings(context.function.environment);
  if (!settings) co_return fail(settings.error());
  auto queue = queues.find_queue(settings->queue_table);
  if (!queue) {
    auto opened = co_await queues.open(settings->queue_table, settings->queue);
    if (!opened && !queues.may_open(settings->queue_table)) co_return report({}, 0, false);
    if (!opened) co_return fail(opened.error());
    queue = *opened;
  }
  auto runner = make_runner(settings->runner, context.services, context.invocation.trace_id);
  // A queue that knows where to ask is asked again by itself, should that change.
  queue->set_pulled(!runner && !settings->trigger_topic.empty());
  queue->downstream().set_runner(place_of(settings->runner));
  if (!runner) co_return report({}, 0, false);
  RunOrder order;
  order.function = context.function.name;
  order.queue = settings->queue_table;
  order.trace_id = context.invocation.trace_id;
  runner = share_runs(std::move(runner), settings->runner, queues.run_sharing(), std::move(order));
  if (context.tracing) {
    runner = trace_attempts(std::move(runner), settings->runner, *context.tracing, context.invocation.trace_id,
                            settings->queue_table);
  }
  log.info("PROCESS_TASKS_BEGIN", {{"function", context.function.name}, {"queue", settings->queue_table}});
  auto run = std::make_unique<Run>(context, *queue, std::move(runner), *settings, log);
  auto counts = co_await run->processor().run();
  // Tasks still in work go on beside the next run, which takes tasks into the free slots.
  const size_t left = run->processor().left();
  if (left > 0) queue->let_finish(finish(std::move(run)));
  run.reset();  // Ends before the next run is asked for.
  if (!counts) co_return fail(counts.error());
  auto called = co_await tail_call(context, *queue, *settings, log);
  if (!called) co_return fail(called.error());
  log.info("PROCESS_TASKS_END", {{"function", context.function.name},
                                 {"queue", settings->queue_table},
                                 {"taken", counts->taken},
                                 {"succeeded", counts->succeeded},
                                 {"failed", counts->failed},
                                 {"bounced", counts->bounced},
                                 {"left", left}});
  co_return report(*counts, left, *called);
}

}  // namespace freshet
