// TASK_RUNNER=function:NAME, and what answers of functions come to.
#include "functions/check_function.h"
#include "functions/runners/function_answer.h"
#include "functions/runners/http_runner.h"
#include "runtime/invoke/invoker.h"
#include "runtime/invoke/native_host.h"
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

class FakeFunctions final : public Invoker {
 public:
  explicit FakeFunctions(Scheduler& scheduler) : scheduler_(scheduler) {}

  using Invoker::invoke;
  Async<Result<InvokeOutcome>> invoke(std::string function, std::string payload, InvokeWishes wishes) override {
    names.push_back(std::move(function));
    events.push_back(std::move(payload));
    traces.push_back(wishes.trace_id);
    EXPECT_TRUE(wishes.ends_with_caller);
    struct InWork {
      int& n;
      ~InWork() { --n; }
    };
    ++in_work;
    const InWork one{in_work};
    co_await sleep_for(scheduler_, duration);
    ++answered;
    co_return answer();
  }
  Async<Result<std::string>> invoke_async(std::string, std::string, std::string) override {
    return Result<std::string>(invalid("not asked for"));
  }
  Result<PreparedEvent> prepare(Delivery) override { return invalid("not asked for"); }
  std::shared_ptr<const FunctionDefinition> find(const std::string&) const override { return nullptr; }
  std::map<std::string, FunctionStats> stats() const override { return {}; }

  std::vector<std::string> names;
  std::vector<std::string> events;
  std::vector<std::string> traces;
  std::function<Result<InvokeOutcome>()> answer = [] { return InvokeOutcome{R"({"done": true})", std::nullopt}; };
  nanoseconds duration{0};
  int in_work = 0;
  int answered = 0;

 private:
  Scheduler& scheduler_;
};

class FunctionRunnerTest : public ProcessorTest {
 protected:
  FunctionRunnerTest() {
    world.services->functions = &functions;
    environment["TASK_RUNNER"] = "function:Worker:live";
    environment["BACKOFF_BASE_MS"] = "0";
    environment["MAX_ATTEMPTS"] = "1";
  }
  void answer_with(std::string payload) {
    functions.answer = [payload] { return InvokeOutcome{payload, std::nullopt}; };
  }
  void refuse_with(ErrorCode code, std::string message) {
    functions.answer = [code, message]() -> Result<InvokeOutcome> { return fail(code, message); };
  }

  FakeFunctions functions{world.scheduler};
};

INSTANTIATE_TEST_SUITE_P(Stores, FunctionRunnerTest, ::testing::Bool(),
                         [](const auto& store) { return std::string(store.param ? "late" : "embedded"); });

TEST_P(FunctionRunnerTest, TheTaskIsTheEventAndTheAnswerTheResult) {
  auto& queue = start();
  NewTask task = named({"a"})[0];
  task.payload = Value(Map{{"order", Value::number(17)}});
  task.deadline_in = milliseconds(60'000);
  for (auto& created : world.wait(queue.create({task}))) ASSERT_TRUE(created);
  EXPECT_EQ(process(), R"({"taken":1,"succeeded":1,"failed":0,"bounced":0,"shed":0,"lost":0,"tailCall":false})");
  EXPECT_EQ(functions.names.at(0), "Worker:live");
  auto event = parse_plain_json(functions.events.at(0));
  ASSERT_TRUE(event);
  const Map& seen = *event->get_if<Map>();
  EXPECT_EQ(seen.string_or("taskId"), "a");
  EXPECT_EQ(seen.int_or("attempt", 0), 1);
  EXPECT_GT(seen.int_or("deadline", 0), world.now_ms());
  EXPECT_FALSE(seen.string_or("lease").empty());
  EXPECT_EQ(seen.find("payload")->get_if<Map>()->int_or("order", 0), 17);
  const Item done = world.read("a");
  EXPECT_EQ(done.string_or("taskStatus"), "SUCCESS");
  EXPECT_EQ(*done.find("result"), Value(Map{{"done", Value::boolean(true)}}));
}

TEST_P(FunctionRunnerTest, TheInvocationGoesOnWithTheTraceOfTheProcessor) {
  const auto settings = process_settings(environment);
  ASSERT_TRUE(settings) << settings.error().message;
  const auto runner = make_runner(settings->runner, *world.services, "Root=1-5759e988-bd862e3fe1be46a994272793");
  const Item item{{"taskId", Value("a")}};
  const auto result = world.wait(runner->run(ItemRef::encode(item), "lease"));
  EXPECT_EQ(result.kind, RunResult::Kind::kSuccess);
  EXPECT_EQ(functions.traces.at(0), "Root=1-5759e988-bd862e3fe1be46a994272793");
}

TEST_P(FunctionRunnerTest, AnErrorIsAFailureWithItsText) {
  auto& queue = start();
  create(queue, {"a"});
  functions.answer = [] {
    InvokeOutcome outcome{R"({"errorMessage":"no stock","errorType":"ValueError","stackTrace":[]})", std::nullopt};
    outcome.error = FunctionError{"ValueError", "no stock", true};
    return outcome;
  };
  process();
  EXPECT_EQ(world.status("a"), "DEAD");
  EXPECT_EQ(world.read("a").string_or("error"), "ValueError: no stock");
}

TEST_P(FunctionRunnerTest, RetryAfterMsGivesTheTaskBack) {
  auto& queue = start();
  create(queue, {"a"});
  answer_with(R"({"retryAfterMs": 30000, "reason": "nobody is at home"})");
  process();
  EXPECT_EQ(world.status("a"), "DELAYED");
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 0);
  EXPECT_GT(world.read("a").int_or("notBefore", 0), world.now_ms() + 25'000);
  answer_with("7");
  world.pass(seconds(31));
  process();
  EXPECT_EQ(*world.read("a").find("result"), Value::number(7));
}

TEST_P(FunctionRunnerTest, AFunctionAtItsConcurrencyOrNotThereBouncesTheTask) {
  environment["BOUNCE_DELAY_MS"] = "5000";
  auto& queue = start();
  create(queue, {"a"});
  refuse_with(ErrorCode::kTooManyRequests, "Rate Exceeded.");
  process();
  EXPECT_EQ(world.status("a"), "DELAYED");
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 0);
  auto stats = world.wait(queue.stats());
  ASSERT_TRUE(stats && stats->runner_trouble);
  EXPECT_EQ(stats->runner, "function");
  EXPECT_EQ(stats->runner_trouble->runner, "function Worker:live");
  EXPECT_TRUE(stats->runner_trouble->reachable);
  EXPECT_EQ(stats->runner_trouble->message, "the function is at its concurrency: Rate Exceeded.");
  world.pass(seconds(6));
  refuse_with(ErrorCode::kResourceNotFound, "Function not found: Worker:live");
  process();
  EXPECT_EQ(world.status("a"), "DELAYED");
  stats = world.wait(queue.stats());
  ASSERT_TRUE(stats && stats->runner_trouble);
  EXPECT_FALSE(stats->runner_trouble->reachable);
  EXPECT_EQ(stats->runner_trouble->message, "Function not found: Worker:live");
  world.pass(seconds(6));
  functions.answer = [] { return failed_outcome("Host.Unavailable", "no place"); };
  process();
  EXPECT_EQ(world.status("a"), "DELAYED");
  EXPECT_EQ(world.read("a").int_or("attempt", -1), 0);
  answer_with("{}");
  world.pass(seconds(6));
  process();
  EXPECT_EQ(world.status("a"), "SUCCESS");
  EXPECT_FALSE(world.wait(queue.stats())->runner_trouble);
}

TEST_P(FunctionRunnerTest, TheTaskTimeoutEndsTheInvocation) {
  environment["TASK_TIMEOUT_MS"] = "2000";
  auto& queue = start();
  create(queue, {"a"});
  functions.duration = seconds(30);
  process();
  EXPECT_EQ(world.status("a"), "DEAD");
  EXPECT_EQ(world.read("a").string_or("error"), "the function was ended after 2000 ms (TASK_TIMEOUT_MS)");
  EXPECT_EQ(functions.in_work, 0);
  EXPECT_EQ(functions.answered, 0);
}

TEST_P(FunctionRunnerTest, ACancelledTaskEndsTheInvocation) {
  environment["LEASE_MS"] = "1000";
  auto& queue = start();
  create(queue, {"a"});
  functions.duration = seconds(30);
  Running running(world, process_tasks, environment);
  world.pass(milliseconds(500));
  ASSERT_EQ(functions.in_work, 1);
  ASSERT_TRUE(world.wait(queue.cancel({"a"}))[0]);
  world.pass(seconds(2));
  EXPECT_EQ(functions.in_work, 0);
  EXPECT_EQ(functions.answered, 0);
  EXPECT_EQ(world.status("a"), "CANCELLED");
  ASSERT_TRUE(running.outcome(world));
}

TEST(FunctionAnswer, OnlyAnObjectOfThoseMembersIsARelease) {
  const auto kind = [](const char* payload) { return answer_of(payload).kind; };
  EXPECT_EQ(kind(R"({"retryAfterMs": 0})"), RunResult::Kind::kBounced);
  EXPECT_EQ(answer_of(R"({"retryAfterMs": 250})").delay, milliseconds(250));
  EXPECT_EQ(answer_of(R"({"retryAfterMs": 250, "reason": "busy"})").reason, "the function gave it back: busy");
  EXPECT_EQ(kind(R"({"retryAfterMs": 250, "rows": 3})"), RunResult::Kind::kSuccess) << "it is a result";
  EXPECT_EQ(kind(R"("retryAfterMs")"), RunResult::Kind::kSuccess);
  EXPECT_EQ(kind(R"([{"retryAfterMs": 250}])"), RunResult::Kind::kSuccess);
  EXPECT_EQ(kind(R"({"retryAfterMs": null})"), RunResult::Kind::kSuccess) << "that is none";
  for (const char* wrong :
       {R"({"retryAfterMs": -1})", R"({"retryAfterMs": "5s"})", R"({"retryAfterMs": 31622400001})"}) {
    EXPECT_EQ(kind(wrong), RunResult::Kind::kFailure) << wrong;
    EXPECT_EQ(answer_of(wrong).error,
              "the function answered with a retryAfterMs that is no number of milliseconds from 0 to 31622400000");
  }
  EXPECT_TRUE(answer_of("null").result.is(Type::kNull));
}

TEST(FunctionAnswer, AnErrorDocumentIsReadAndOtherTextKept) {
  EXPECT_EQ(error_text(R"({"errorMessage":"m","errorType":"T"})"), "T: m");
  EXPECT_EQ(error_text(R"({"errorMessage":"m"})"), "m");
  EXPECT_EQ(error_text(R"({"errorType":"T"})"), "T");
  EXPECT_EQ(error_text(R"({"message":"m"})"), R"({"message":"m"})");
  EXPECT_EQ(error_text("broken {"), "broken {");
  EXPECT_EQ(error_text(std::string(5'000, 'x')).size(), 1'024u);
}

// A Lambda Invoke URL answers 200 for a function that failed.
TEST_P(FunctionRunnerTest, AFunctionErrorOverHttpIsAFailure) {
  environment["TASK_RUNNER"] = "http://handler/2015-03-31/functions/F/invocations";
  auto& queue = start();
  create(queue, {"a", "b"});
  world.http.answer = [](const HttpRequest& request) {
    HttpResponse response;
    response.headers.emplace_back("X-Amz-Function-Error", "Unhandled");
    const bool first = request.body.find(R"("taskId":"a")") != std::string::npos;
    response.body = first ? R"({"errorMessage":"no stock","errorType":"ValueError"})" : "";
    return response;
  };
  process();
  EXPECT_EQ(world.status("a"), "DEAD");
  EXPECT_EQ(world.read("a").string_or("error"), "ValueError: no stock");
  EXPECT_EQ(world.read("b").string_or("error"), "the function failed: Unhandled");
}

TEST(FunctionWorker, ATemplateWithoutItIsWarnedOf) {
  FunctionDefinition processor;
  processor.name = "ProcessTasks";
  processor.handler = "process_tasks";
  FunctionDefinition worker;
  worker.name = "Worker";
  worker.host = "process";
  Deployment deployment;
  deployment.tables.emplace_back().name = "QueueTable";
  processor.environment["QUEUE_TABLE"] = "QueueTable";
  deployment.functions = {processor, worker};
  const auto faults = [&](const char* runner) {
    processor.environment["TASK_RUNNER"] = runner;
    return check_function(processor, deployment);
  };
  EXPECT_TRUE(faults("function:Worker").empty());
  EXPECT_TRUE(faults("function:Worker:live").empty());
  EXPECT_TRUE(faults("function:arn:aws:lambda:eu-west-1:000000000000:function:Worker").empty());
  const auto missing = faults("function:Wroker");
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_TRUE(missing[0].warning) << "it may be created later";
  EXPECT_EQ(missing[0].property, "Environment.Variables.TASK_RUNNER");
  EXPECT_EQ(missing[0].message,
            "the template has no function 'Wroker' (it has Worker): until it is created, tasks wait; write "
            "function:NAME with the name of an existing one");
  processor.environment["CONCURRENCY"] = "8";
  deployment.functions[1].reserved_concurrency = 2;
  const auto many = faults("function:Worker");
  ASSERT_EQ(many.size(), 1u);
  EXPECT_TRUE(many[0].warning);
  EXPECT_EQ(many[0].message,
            "it is 8, and the ReservedConcurrentExecutions of 'Worker' is 2: the tasks beyond only come back; make it "
            "2, or adaptive");
  processor.environment["CONCURRENCY"] = "adaptive";
  EXPECT_TRUE(faults("function:Worker").empty());
  const auto itself = faults("function:ProcessTasks");
  ASSERT_EQ(itself.size(), 1u);
  EXPECT_FALSE(itself[0].warning);
}

}  // namespace
}  // namespace freshet
