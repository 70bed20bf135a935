// Tasks that run on another daemon of the fleet than the one that serves their queue.
#include "app/fleet/shared_runs.h"

#include <vector>

#include "app/fleet/run_here.h"
#include "tests/app/asked_member.h"
#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

constexpr milliseconds kTimeout{60'000};

ItemRef task_named(const std::string& id) {
  return ItemRef::encode(Item{{"taskId", Value(id)}, {"payload", Value(Map{{"n", Value::number(7)}})}});
}

RunOrder order_of(const std::string& id) {
  RunOrder order;
  order.function = "Process";
  order.queue = "QueueTable";
  order.place = "/bin/work";
  order.lease = id + "-lease";
  order.task = task_named(id);
  return order;
}

// Takes a time, and then says where it ran.
class SlowRunner final : public Runner {
 public:
  explicit SlowRunner(Scheduler& scheduler, nanoseconds takes = seconds(1)) : scheduler_(scheduler), takes_(takes) {}
  Async<RunResult> run(ItemRef task, std::string lease) override {
    ++begun;
    const UnderWayHere counted(*this);
    co_await sleep_for(scheduler_, takes_);
    RunResult out;
    out.result = Value(lease + " " + std::string(task.decode().string_or("taskId")));
    co_return out;
  }
  int begun = 0;
  int in_work = 0;

 private:
  struct UnderWayHere {
    explicit UnderWayHere(SlowRunner& one) : runner(one) { ++runner.in_work; }
    ~UnderWayHere() { --runner.in_work; }
    SlowRunner& runner;
  };
  Scheduler& scheduler_;
  const nanoseconds takes_;
};

// The asked member shares the runs of its queue with another one.
class SharedRunsTest : public AskedMemberTest {
 protected:
  SharedRunsTest() : AskedMemberTest("queue/Other") {
    world.http.duration = seconds(1);
    begin();
    world.http.requests.clear();
  }
  ~SharedRunsTest() override { scope.clear(); }

  // The daemon can be reached, and answers an order like this.
  void answer_runs(std::function<Result<HttpResponse>()> answer) {
    world.http.answer = [answer](const HttpRequest& request) -> Result<HttpResponse> {
      if (request.target == "/fleet/run") return answer();
      return HttpResponse{};
    };
  }
  static HttpResponse answer_of(int status, std::string body = "") {
    HttpResponse out;
    out.status = status;
    out.body = std::move(body);
    return out;
  }
  void run(const std::string& id) { scope.spawn(keep(id)); }
  Async<void> keep(std::string id) {
    RunOrder order = order_of(id);
    auto running = shared.run(std::move(order), kTimeout, here);
    RunResult result = co_await running;
    results[id] = std::move(result);
  }
  static HttpResponse ran(const Value& value) {
    RunResult result;
    result.result = value;
    return answer_of(200, run_result_json(result));
  }
  std::string text(const std::string& id) {
    const auto* string = results.at(id).result.get_if<std::string>();
    return string ? *string : "";
  }
  size_t runs_asked() const {
    size_t out = 0;
    for (const HttpRequest& request : world.http.requests) out += request.target == "/fleet/run" ? 1 : 0;
    return out;
  }

  LogCapture log;
  SharedRuns shared{*units, calls, EventLog(world.clock, log, LogLevel::kWarn)};
  SlowRunner here{world.scheduler};
  std::map<std::string, RunResult> results;
  Scope scope;
};

TEST_F(SharedRunsTest, EachDaemonHasEquallyManyTasks) {
  answer_runs([] { return ran(Value("there")); });
  for (const char* id : {"a", "b", "c", "d", "e"}) run(id);
  EXPECT_EQ(here.begun, 3) << "the first one, and every second one";
  EXPECT_EQ(shared.running_at("owner"), 2u);
  EXPECT_EQ(shared.running_at("asked"), 3u);
  EXPECT_EQ(shared.running(), 5u);
  world.pass(seconds(3));
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(text("a"), "a-lease a");
  EXPECT_EQ(text("b"), "there");
  EXPECT_EQ(shared.running(), 0u);
  run("f");
  EXPECT_EQ(here.begun, 4) << "one at a time stays here";
}

TEST_F(SharedRunsTest, AnOrderArrivesAsItWasSent) {
  run("a");
  run("b");
  world.pass(milliseconds(1500));
  ASSERT_EQ(runs_asked(), 1u);
  const auto sent = parse_run_order(world.http.requests.back().body);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->owner, "asked");
  EXPECT_EQ(sent->epoch, units->core()->me().epoch);
  EXPECT_EQ(sent->place, "/bin/work");
  EXPECT_EQ(sent->function, "Process");
  EXPECT_EQ(sent->queue, "QueueTable");
  EXPECT_EQ(sent->lease, "b-lease");
  EXPECT_EQ(sent->task.decode(), task_named("b").decode());
}

TEST_F(SharedRunsTest, AMemberThatCannotBeReachedIsNotAskedForFiveSeconds) {
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  run("a");
  run("b");
  world.pass(seconds(3));
  EXPECT_EQ(text("b"), "b-lease b") << "it ran here";
  EXPECT_EQ(runs_asked(), 0u) << "it was tried with a small request";
  run("c");
  run("d");
  EXPECT_EQ(here.begun, 4);
  world.pass(seconds(5));
  answer_runs([] { return ran(Value("there")); });
  run("e");
  run("f");
  world.pass(seconds(3));
  EXPECT_EQ(text("f"), "there");
}

TEST_F(SharedRunsTest, ATaskThatTheMemberDoesNotBeginRunsElsewhereAtOnce) {
  RunResult full;
  full.kind = RunResult::Kind::kBounced;
  full.refusal = DownstreamRefusal::kTooManyRequests;
  full.reason = "the function is at its concurrency";
  full.begun = false;
  RunResult missing;
  missing.kind = RunResult::Kind::kFailure;
  missing.error = "no such program";
  missing.begun = false;
  struct Case {
    HttpResponse answer;
    seconds avoided;
  };
  const Case cases[] = {{answer_of(503), seconds(5)},
                        {answer_of(404), seconds(60)},
                        {answer_of(403), seconds(60)},
                        {answer_of(413), seconds(0)},
                        {answer_of(200, run_result_json(full)), seconds(1)},
                        {answer_of(200, run_result_json(missing)), seconds(1)}};
  for (const Case& one : cases) {
    SCOPED_TRACE(std::to_string(one.answer.status) + " " + one.answer.body);
    world.http.requests.clear();
    results.clear();
    answer_runs([&] { return one.answer; });
    run("a");
    run("b");
    world.pass(milliseconds(4500));
    EXPECT_EQ(text("b"), "b-lease b");
    EXPECT_EQ(runs_asked(), 1u) << "no member is asked twice for one task";
    const milliseconds begun_after(1500);
    if (one.avoided > seconds(5)) {
      world.pass(one.avoided - seconds(6));
      run("c");
      run("d");
      world.pass(begun_after);
      EXPECT_EQ(runs_asked(), 1u);
      world.pass(seconds(10));
    } else {
      world.pass(one.avoided);
    }
    run("e");
    run("f");
    world.pass(begun_after);
    EXPECT_EQ(runs_asked(), 2u);
    world.pass(seconds(61));
  }
}

// The member's key for others has the rights `read` and `work` only.
TEST_F(SharedRunsTest, AMemberThatMayNotAskKeepsItsTasksAndSaysWhy) {
  answer_runs([] { return answer_of(403, R"({"error":{"code":"AccessDenied"}})"); });
  for (int i = 0; i < 10; ++i) {
    run("a" + std::to_string(i));
    run("b" + std::to_string(i));
    world.pass(seconds(5));
  }
  EXPECT_EQ(results.size(), 20u);
  EXPECT_EQ(here.begun, 20);
  for (const auto& [id, result] : results) {
    EXPECT_EQ(result.kind, RunResult::Kind::kSuccess) << id;
    EXPECT_EQ(text(id), id + "-lease " + id);
  }
  EXPECT_EQ(runs_asked(), 1u);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.count("FLEET_RUN_REFUSED"), 1u);
  EXPECT_NE(log.lines[0].find(R"("member":"owner")"), std::string::npos) << log.lines[0];
  EXPECT_NE(log.lines[0].find("status 403 "), std::string::npos) << log.lines[0];
}

TEST_F(SharedRunsTest, WhatTheProgramOrItsDownstreamRefusesIsAResult) {
  for (const auto refusal : {DownstreamRefusal::kTemporary, DownstreamRefusal::kUnavailable,
                             DownstreamRefusal::kTooManyRequests, DownstreamRefusal::kUnreachable}) {
    results.clear();
    here.begun = 0;
    RunResult refused;
    refused.kind = RunResult::Kind::kBounced;
    refused.refusal = refusal;
    answer_runs([&] { return answer_of(200, run_result_json(refused)); });
    run("a");
    run("b");
    world.pass(seconds(3));
    EXPECT_EQ(results["b"].kind, RunResult::Kind::kBounced);
    EXPECT_EQ(here.begun, 1);
  }
}

TEST_F(SharedRunsTest, ATaskWhoseDaemonIsLostKeepsItsPlaceUntilItsTimeIsOver) {
  answer_runs([]() -> Result<HttpResponse> { return fail(ErrorCode::kUnavailable, "connection reset"); });
  run("a");
  run("b");
  world.pass(seconds(60));
  EXPECT_EQ(shared.running(), 1u) << "it may still run there";
  EXPECT_FALSE(results.contains("b"));
  world.pass(seconds(7));
  ASSERT_TRUE(results.contains("b"));
  EXPECT_EQ(results["b"].kind, RunResult::Kind::kFailure);
  EXPECT_FALSE(results["b"].answered);
  EXPECT_EQ(results["b"].error, "the task was sent to daemon 'owner', which gave no answer: connection reset");
}

TEST_F(SharedRunsTest, AMemberThatLeavesIsNotAsked) {
  auto leaving = owner->leave(world.clock.boot() + seconds(5));
  world.pass(seconds(3));
  for (const char* id : {"a", "b", "c"}) run(id);
  EXPECT_EQ(here.begun, 3);
}

TEST_F(SharedRunsTest, ASilentMemberIsNotAsked) {
  owner.reset();
  world.pass(seconds(8));
  for (const char* id : {"a", "b", "c"}) run(id);
  EXPECT_EQ(here.begun, 3);
}

TEST_F(SharedRunsTest, AnAnswerThatIsNoResultCountsAsLost) {
  answer_runs([] { return answer_of(200, "hello"); });
  run("a");
  run("b");
  world.pass(seconds(67));
  EXPECT_EQ(results["b"].error,
            "the task was sent to daemon 'owner', which gave no answer: the body must be a JSON object");
}

// The other side: this member runs tasks of the owner's queues.
class RunHereTest : public AskedMemberTest {
 protected:
  RunHereTest() : AskedMemberTest("queue/QueueTable") { begin(); }
  ~RunHereTest() override {
    asking.reset();
    route.reset();
  }

  RunOrder order_from(const std::string& id, std::string from) {
    RunOrder order = order_of(id);
    order.owner = std::move(from);
    order.epoch = owner->core()->me().epoch;
    return order;
  }
  void ask_for(const std::string& id, std::string from = "owner") {
    RunOrder order = order_from(id, std::move(from));
    asking.emplace(runs.answer(run_order_json(order)));
  }
  HttpResponse answer() {
    EXPECT_TRUE(asking->is_ready());
    HttpResponse out = asking->take();
    asking.reset();
    return out;
  }
  static std::unique_ptr<Runner> borrowed(Runner& runner) {
    class Borrowed final : public Runner {
     public:
      explicit Borrowed(Runner& one) : runner_(one) {}
      Async<RunResult> run(ItemRef task, std::string lease) override {
        return runner_.run(std::move(task), std::move(lease));
      }

     private:
      Runner& runner_;
    };
    return std::make_unique<Borrowed>(runner);
  }

  SlowRunner runner{world.scheduler, seconds(20)};
  RunHere runs{*units, [this](const RunOrder& order) -> Result<std::unique_ptr<Runner>> {
                 if (order.function != "Process") return fail(ErrorCode::kNotFound, "it is not here");
                 return borrowed(runner);
               }};
  std::optional<Async<HttpResponse>> asking;
};

TEST_F(RunHereTest, ATaskRunsAndItsResultGoesBack) {
  ask_for("a");
  world.pass(seconds(19));
  EXPECT_EQ(runs.running(), 1u);
  world.pass(seconds(2));
  const HttpResponse done = answer();
  EXPECT_EQ(done.status, 200);
  const auto result = parse_run_result(done.body);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->kind, RunResult::Kind::kSuccess);
  EXPECT_EQ(result->result, Value("a-lease a"));
  EXPECT_EQ(runs.running(), 0u);
}

TEST_F(RunHereTest, ARunEndsWithTheDaemonThatAskedForIt) {
  ask_for("a");
  world.pass(seconds(1));
  EXPECT_EQ(runner.in_work, 1);
  owner.reset();
  world.pass(seconds(6));
  EXPECT_EQ(runner.in_work, 0);
  EXPECT_EQ(answer().status, 500);
}

// Another daemon serves the queue a lease after the last heartbeat, and may have seen it half a second earlier.
TEST_F(RunHereTest, ARunEndsBeforeAnotherDaemonServesTheQueue) {
  ask_for("a");
  world.pass(seconds(1));
  owner.reset();
  const BootTime seen = units->core()->last_seen("owner");
  const auto silent = [&] { return world.clock.boot() - seen; };
  while (runner.in_work > 0 && silent() < seconds(4)) world.pass(milliseconds(10));
  EXPECT_GE(silent(), milliseconds(2'000)) << "until then it may be alive";
  EXPECT_LE(silent(), milliseconds(2'400));
}

TEST_F(RunHereTest, ARunEndsWhenTheDaemonThatAskedForItHangsUp) {
  ask_for("a");
  world.pass(seconds(1));
  asking.reset();
  EXPECT_EQ(runner.in_work, 0);
  EXPECT_EQ(runs.running(), 0u);
}

TEST_F(RunHereTest, ADaemonThatStopsFinishesWhatItRuns) {
  ask_for("a");
  runs.stop();
  std::optional<Async<bool>> ended(runs.finish(world.clock.boot() + seconds(60)));
  world.pass(seconds(10));
  EXPECT_FALSE(ended->is_ready());
  auto refused = runs.answer(run_order_json(order_from("b", "owner")));
  ASSERT_TRUE(refused.is_ready());
  EXPECT_EQ(refused.take().status, 503);
  world.pass(seconds(11));
  ASSERT_TRUE(ended->is_ready());
  EXPECT_TRUE(ended->take());
  EXPECT_EQ(answer().status, 200);
}

TEST_F(RunHereTest, ADaemonThatStopsGivesBackWhatTakesTooLong) {
  ask_for("a");
  runs.stop();
  EXPECT_FALSE(world.wait(runs.finish(world.clock.boot() + seconds(5))));
  world.pass(milliseconds(1));
  EXPECT_EQ(runner.in_work, 0);
  const auto result = parse_run_result(answer().body);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->kind, RunResult::Kind::kBounced) << "the attempt does not count";
  EXPECT_EQ(result->refusal, DownstreamRefusal::kRelease);
}

TEST_F(RunHereTest, OnlyALivingMemberMayAsk) {
  const auto status_of = [this](const RunOrder& order) {
    auto asked = runs.answer(run_order_json(order));
    EXPECT_TRUE(asked.is_ready());
    return asked.take().status;
  };
  EXPECT_EQ(status_of(order_from("a", "nobody")), 503);
  EXPECT_EQ(status_of(order_from("a", "asked")), 503) << "itself";
  RunOrder of_another_life = order_from("a", "owner");
  ++of_another_life.epoch;
  EXPECT_EQ(status_of(of_another_life), 503);
  EXPECT_EQ(runner.begun, 0);
}

TEST_F(RunHereTest, ARunEndsWhenTheDaemonThatAskedForItStartsAgain) {
  ask_for("a");
  world.pass(seconds(1));
  owner = std::make_unique<Fleet>(*world.store, world.scheduler, world.random, EventLog(), no_work,
                                  FleetOptions{"owner", "http://owner", milliseconds(3000)});
  EXPECT_TRUE(world.wait(owner->join()));
  world.pass(seconds(2));
  EXPECT_EQ(runner.in_work, 0);
}

TEST_F(RunHereTest, AnOrderThatIsWrongIsRefused) {
  const auto refusal = [this](std::string body) {
    auto asked = runs.answer(std::move(body));
    EXPECT_TRUE(asked.is_ready());
    return asked.take();
  };
  EXPECT_EQ(refusal("{").status, 400);
  EXPECT_NE(refusal("[]").body.find("the body must be a JSON object"), std::string::npos);
  EXPECT_NE(refusal(R"({"owner":"a"})").body.find("the body needs the string 'function'"), std::string::npos);
  const std::string most = R"({"owner":"a","function":"f","queue":"q","place":"","traceId":"","lease":"l")";
  EXPECT_NE(refusal(most + R"(,"task":{}})").body.find("the body needs the number 'epoch'"), std::string::npos);
  EXPECT_NE(refusal(most + R"(,"epoch":1,"task":1})").body.find("the body needs the object 'task'"), std::string::npos);
  EXPECT_EQ(refusal(most + R"(,"epoch":1,"task":{"a":{"X":1}}})").status, 400);
  RunOrder unknown = order_from("a", "owner");
  unknown.function = "Another";
  EXPECT_EQ(refusal(run_order_json(unknown)).status, 404);
  EXPECT_EQ(runner.begun, 0);
}

TEST(RunSharingTest, OnlyFunctionsAndProgramsAreShared) {
  RunnerSettings settings;
  for (const auto kind : {RunnerSettings::Kind::kFunction, RunnerSettings::Kind::kExec, RunnerSettings::Kind::kHttp,
                          RunnerSettings::Kind::kFake, RunnerSettings::Kind::kNone}) {
    settings.kind = kind;
    EXPECT_EQ(is_work_of_machine(settings),
              kind == RunnerSettings::Kind::kFunction || kind == RunnerSettings::Kind::kExec);
  }
  QueueWorld world{false};
  settings.kind = RunnerSettings::Kind::kHttp;
  auto http = std::make_unique<SlowRunner>(world.scheduler);
  const Runner* before = http.get();
  EXPECT_EQ(share_runs(std::move(http), settings, nullptr, order_of("a")).get(), before);
}

TEST(RunResultTest, ItSurvivesTheRoundTrip) {
  RunResult sent;
  sent.kind = RunResult::Kind::kBounced;
  sent.result = Value(Map{{"a", Value::number(1)}});
  sent.error = "an error";
  sent.reason = "a \"reason\"";
  sent.refusal = DownstreamRefusal::kTemporary;
  sent.delay = milliseconds(5);
  sent.leave_alone = milliseconds(6);
  sent.cost = 2.5;
  sent.bad_cost = "x";
  sent.answered = false;
  sent.begun = false;
  const auto got = parse_run_result(run_result_json(sent));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->kind, sent.kind);
  EXPECT_EQ(got->result, sent.result);
  EXPECT_EQ(got->error, sent.error);
  EXPECT_EQ(got->reason, sent.reason);
  EXPECT_EQ(got->refusal, sent.refusal);
  EXPECT_EQ(got->delay, sent.delay);
  EXPECT_EQ(got->leave_alone, sent.leave_alone);
  EXPECT_EQ(got->cost, sent.cost);
  EXPECT_EQ(got->bad_cost, sent.bad_cost);
  EXPECT_FALSE(got->answered);
  EXPECT_FALSE(got->begun);
  EXPECT_TRUE(parse_run_result(run_result_json({})));
  EXPECT_FALSE(parse_run_result(R"({"kind":"odd","refusal":"429","values":{}})"));
  EXPECT_FALSE(parse_run_result(R"({"kind":"success","refusal":"odd","values":{}})"));
  EXPECT_FALSE(parse_run_result(R"({"kind":"success","refusal":"429"})"));
  EXPECT_FALSE(parse_run_result(R"({"kind":"success","refusal":"429","error":1,"values":{}})"));
}

}  // namespace
}  // namespace freshet
