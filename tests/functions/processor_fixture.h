// Shared by tests of the processor: a function as the runtime would run it, and its world.
#pragma once

#include "functions/functions.h"
#include "tables/value/json.h"
#include "tests/functions/world.h"

namespace freshet {

// A function as the runtime would run it.
class Running {
 public:
  using Function = Async<Result<std::string>> (*)(Context&, Queues&, const EventLog&);
  Running(QueueWorld& world, Function function, Environment environment, std::string payload = "{}", EventLog log = {})
      : log_(log),
        definition_(define(std::move(environment))),
        context_{*world.services, definition_, {"id", std::move(payload), world.clock.boot() + seconds(120), "", ""}},
        work_(function(context_, *world.queues, log_)) {}
  bool ended() const { return work_.is_ready(); }
  Result<std::string> outcome(QueueWorld& world) { return world.wait(std::move(work_)); }

 private:
  static FunctionDefinition define(Environment environment) {
    FunctionDefinition definition;
    definition.environment = std::move(environment);
    return definition;
  }
  EventLog log_;
  FunctionDefinition definition_;
  Context context_;
  Async<Result<std::string>> work_;
};

class ProcessorTest : public ::testing::TestWithParam<bool> {
 protected:
  QueueWorld world{GetParam()};
  Environment environment{{"QUEUE_TABLE", "QueueTable"},    {"TASK_RUNNER", "http://handler/work"},
                          {"TRIGGER_TOPIC_ARN", "trigger"}, {"LINGER_MS", "0"},
                          {"BACKOFF_BASE_MS", "60000"},     {"BACKOFF_JITTER", "0"}};

  Queue& start() {
    auto settings = process_settings(environment);
    EXPECT_TRUE(settings) << settings.error().message;
    return world.start(settings->queue);
  }
  void create(Queue& queue, std::initializer_list<const char*> names) {
    for (auto& created : world.wait(queue.create(named(names)))) ASSERT_TRUE(created) << created.error().message;
  }
  std::string process(EventLog log = {}) {
    Running running(world, process_tasks, environment, "{}", log);
    auto outcome = running.outcome(world);
    return outcome ? *outcome : outcome.error().message;
  }
  std::string order() const {
    std::string out;
    for (const auto& request : world.http.requests) {
      auto task = parse_plain_json(request.body);
      out += (out.empty() ? "" : " ") + std::string(task->get_if<Map>()->string_or("taskId"));
    }
    return out;
  }
};

}  // namespace freshet
