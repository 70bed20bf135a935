// Tasks that run on another daemon of the fleet than the one that serves their queue.
#include "app/fleet/shared_runs.h"

#include <vector>

#include "app/fleet/run_here.h"
#include "tests/app/asked_member.h"

namespace freshet {
namespace {

constexpr milliseconds kTimeout{60'000};

ItemRef task_named(const std::string& id) {
  return ItemRef::encode(Item{{"taskId", Value(id)}, {"payload", Value(Map{{"n", Value::number(7)}})}});
}

RunOrder order_of(const std::string& id) {
  return {{}, "Process", "QueueTable", "", id + "-lease", task_named(id)};
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

  void run(const std::string& id) { scope.spawn(keep(id)); }
  Async<void> keep(std::string id) {
    RunOrder order = order_of(id);
    auto running = shared.run(std::move(order), kTimeout, here);
    RunResult result = co_await running;
    results[id] = std::move(result);
  }
  HttpResponse ran(const Value& value) {
    RunResult result;
    result.result = value;
    HttpResponse answer;
    answer.status = 200;
    answer.body = run_result_json(result);
    return answer;
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

  SharedRuns shared{*units, calls};
  SlowRunner here{world.scheduler};
  std::map<std::string, RunResult> results;
  Scope scope;
};

TEST_F(SharedRunsTest, EachDaemonHasEquallyManyTasks) {
  world.http.answer = [this](const HttpRequest&) { return ran(Value("there")); };
  for (const char* id : {"a", "b", "c", "d", "e"}) run(id);
  EXPECT_EQ(here.begun, 3) << "the first one, and every second one";
  EXPECT_EQ(shared.running_at("owner"), 2u);
  EXPECT_EQ(shared.running_at("asked"), 3u);
  EXPECT_EQ(shared.running(), 5u);
  world.pass(seconds(2));
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
  ASSERT_EQ(runs_asked(), 1u);
  const auto sent = parse_run_order(world.http.requests.back().body);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->owner, "asked");
  EXPECT_EQ(sent->function, "Process");
  EXPECT_EQ(sent->queue, "QueueTable");
  EXPECT_EQ(sent->lease, "b-lease");
  EXPECT_EQ(sent->task.decode(), task_named("b").decode());
}

TEST_F(SharedRunsTest, AMemberThatDoesNotBeginIsLeftAlone) {
  for (const bool is_reached : {false, true}) {
    SCOPED_TRACE(is_reached);
    world.http.requests.clear();
    here.begun = 0;
    world.http.answer = [is_reached](const HttpRequest&) -> Result<HttpResponse> {
      if (!is_reached) return never_sent(ErrorCode::kUnavailable, "nobody listens");
      HttpResponse refused;
      refused.status = 404;
      return refused;
    };
    run("a");
    run("b");
    world.pass(seconds(3));
    EXPECT_EQ(text("b"), "b-lease b") << "it ran here";
    EXPECT_EQ(runs_asked(), 1u);
    run("c");
    run("d");
    EXPECT_EQ(here.begun, 4) << "it is not asked for a while";
    world.pass(seconds(6));
    run("e");
    run("f");
    EXPECT_EQ(runs_asked(), 2u);
    world.pass(seconds(6));
  }
}

TEST_F(SharedRunsTest, ATaskWhoseDaemonIsLostKeepsItsPlaceUntilItsTimeIsOver) {
  world.http.answer = [](const HttpRequest&) -> Result<HttpResponse> {
    return fail(ErrorCode::kUnavailable, "connection reset");
  };
  run("a");
  run("b");
  world.pass(seconds(50));
  EXPECT_EQ(shared.running(), 1u) << "it may still run there";
  EXPECT_FALSE(results.contains("b"));
  world.pass(seconds(11));
  ASSERT_TRUE(results.contains("b"));
  EXPECT_EQ(results["b"].kind, RunResult::Kind::kFailure);
  EXPECT_FALSE(results["b"].answered);
  EXPECT_EQ(results["b"].error, "daemon owner of the fleet, where it ran, gave no answer: connection reset");
}

TEST_F(SharedRunsTest, ASilentMemberIsNotAsked) {
  owner.reset();
  world.pass(seconds(8));
  for (const char* id : {"a", "b", "c"}) run(id);
  EXPECT_EQ(here.begun, 3);
}

TEST_F(SharedRunsTest, AnAnswerThatIsNoResultCountsAsLost) {
  world.http.answer = [](const HttpRequest&) {
    HttpResponse odd;
    odd.status = 200;
    odd.body = "hello";
    return odd;
  };
  run("a");
  run("b");
  world.pass(seconds(61));
  EXPECT_EQ(results["b"].error,
            "daemon owner of the fleet, where it ran, gave no answer: the body must be a JSON object");
}

// The other side: this member runs tasks of the owner's queues.
class RunHereTest : public AskedMemberTest {
 protected:
  RunHereTest() : AskedMemberTest("queue/QueueTable") { begin(); }
  ~RunHereTest() override {
    asking.reset();
    route.reset();
  }

  void ask_for(const std::string& id, std::string from = "owner") {
    RunOrder order = order_of(id);
    order.owner = std::move(from);
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
  std::optional<Async<bool>> ended(runs.ended(world.clock.boot() + seconds(60)));
  world.pass(seconds(10));
  EXPECT_FALSE(ended->is_ready());
  auto refused = runs.answer(run_order_json(order_of("b")));
  ASSERT_TRUE(refused.is_ready());
  EXPECT_EQ(refused.take().status, 503);
  world.pass(seconds(11));
  ASSERT_TRUE(ended->is_ready());
  EXPECT_TRUE(ended->take());
  EXPECT_EQ(answer().status, 200);
}

TEST_F(RunHereTest, ADaemonThatStopsDoesNotWaitForever) {
  ask_for("a");
  runs.stop();
  EXPECT_FALSE(world.wait(runs.ended(world.clock.boot() + seconds(5))));
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
  EXPECT_NE(refusal(R"({"owner":"a","function":"f","queue":"q","traceId":"","lease":"l","task":1})")
                .body.find("the body needs the object 'task'"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"owner":"a","function":"f","queue":"q","traceId":"","lease":"l","task":{"a":{"X":1}}})").status,
            400);
  EXPECT_EQ(refusal(R"({"owner":"a","function":"f","queue":"q","traceId":"","lease":"l","task":{}})").status, 404);
  EXPECT_EQ(runner.begun, 0);
}

TEST(RunResultTest, AllOfItArrives) {
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
  EXPECT_TRUE(parse_run_result(run_result_json({})));
  EXPECT_FALSE(parse_run_result(R"({"kind":"odd","refusal":"429","values":{}})"));
  EXPECT_FALSE(parse_run_result(R"({"kind":"success","refusal":"odd","values":{}})"));
  EXPECT_FALSE(parse_run_result(R"({"kind":"success","refusal":"429"})"));
  EXPECT_FALSE(parse_run_result(R"({"kind":"success","refusal":"429","error":1,"values":{}})"));
}

}  // namespace
}  // namespace freshet
