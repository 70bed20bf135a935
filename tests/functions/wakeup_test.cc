// A queue's own activity: leases, restarts, `Start`; no single lost event, message or invocation matters.
#include "functions/functions.h"
#include "tests/functions/world.h"

namespace freshet {
namespace {

using Kind = Settlement::Kind;

class WakeupTest : public ::testing::TestWithParam<bool> {
 protected:
  QueueWorld world{GetParam()};

  Queue& start(QueueSettings settings = {}) { return world.start(settings); }
  void create(Queue& queue, std::initializer_list<const char*> names) {
    for (auto& created : world.wait(queue.create(named(names)))) ASSERT_TRUE(created) << created.error().message;
  }
  Result<std::vector<TakenTask>> take(Queue& queue, int max = 1) {
    TakeInput input;
    input.max = max;
    return world.wait(queue.take(input));
  }
  Result<ItemRef> settle(Queue& queue, Kind kind, const TakenTask& task) {
    std::vector<Settlement> one{settlement(kind, task)};
    return world.wait(queue.settle(std::move(one)))[0];
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, WakeupTest, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

QueueSettings short_leases() {
  QueueSettings settings;
  settings.lease = milliseconds(10'000);
  settings.backoff = {milliseconds(1'000), milliseconds(1'000), 1, 0};
  settings.max_attempts = 3;
  return settings;
}

TEST_P(WakeupTest, ALeaseEndsWithoutHeartbeatsAndCountsAsAnAttempt) {
  Queue& queue = start(short_leases());
  create(queue, {"a"});
  auto taken = take(queue);
  world.pass(milliseconds(9'900));
  EXPECT_EQ(world.status("a"), "TAKEN");
  world.pass(milliseconds(300));
  EXPECT_EQ(world.status("a"), "DELAYED");
  EXPECT_EQ(world.read("a").string_or("error"), "lease ended");
  EXPECT_EQ(settle(queue, Kind::kComplete, (*taken)[0]).error().code, ErrorCode::kConflict);
  world.pass(milliseconds(1'200));
  EXPECT_EQ(world.status("a"), "PENDING");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(take(queue)->size(), 1u);
    world.pass(milliseconds(12'000));
  }
  EXPECT_EQ(world.status("a"), "DEAD");
  EXPECT_EQ(world.read("a").find("history")->get_if<List>()->elements.size(), 3u);
  EXPECT_TRUE(check_balance(world.books()));
}

TEST_P(WakeupTest, HeartbeatsKeepALease) {
  Queue& queue = start(short_leases());
  create(queue, {"a"});
  auto taken = take(queue);
  for (int i = 0; i < 10; ++i) {
    world.pass(milliseconds(8'000));
    ASSERT_TRUE(settle(queue, Kind::kHeartbeat, (*taken)[0]));
  }
  EXPECT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  EXPECT_EQ(world.read("a").int_or("attempt", 0), 1);
}

TEST_P(WakeupTest, AStepOfTheWallClockEndsNoLease) {
  Queue& queue = start(short_leases());
  create(queue, {"a"});
  auto taken = take(queue);
  world.clock.step_wall(milliseconds(3'600'000));
  world.pass(milliseconds(5'000));
  EXPECT_EQ(world.status("a"), "TAKEN");
  EXPECT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
}

TEST_P(WakeupTest, LeasesOfADeadIncarnationEndAtStart) {
  Queue& first = start(short_leases());
  create(first, {"a", "b"});
  auto taken = take(first);
  ASSERT_EQ(ids(taken), "b");
  Queue& second = start(short_leases());
  EXPECT_EQ(world.status("b"), "PENDING");
  EXPECT_EQ(world.read("b").int_or("attempt", 0), 1);
  EXPECT_EQ(world.read("b").string_or("error"), "the daemon died while this was in work");
  EXPECT_EQ(settle(second, Kind::kComplete, (*taken)[0]).error().code, ErrorCode::kConflict);
  EXPECT_EQ(ids(take(second, 9)), "b a");
}

TEST_P(WakeupTest, AStopWaitsForPullWorkersAndGivesOutNothing) {
  Queue& queue = start(short_leases());
  create(queue, {"a", "b"});
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "b");
  world.queues->drain();
  auto returned = world.queues->all_returned(world.clock.boot() + seconds(3600));
  EXPECT_EQ(take(queue).error().code, ErrorCode::kUnavailable);
  TakeInput patient;
  patient.wait = milliseconds(60'000);
  auto before = world.clock.boot();
  EXPECT_EQ(world.wait(queue.take(patient)).error().code, ErrorCode::kUnavailable);
  EXPECT_LT(world.clock.boot() - before, seconds(1));
  EXPECT_FALSE(returned.is_ready());
  EXPECT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  world.pass(milliseconds(100));
  ASSERT_TRUE(returned.is_ready());
  EXPECT_TRUE(returned.take());
  EXPECT_EQ(world.status("b"), "SUCCESS");
}

TEST_P(WakeupTest, WhatIsHeldWhenTheDaemonStopsGoesBackWithItsAttempt) {
  Queue& first = start(short_leases());
  create(first, {"a", "b", "c"});
  auto taken = take(first, 2);
  ASSERT_EQ(ids(taken), "c b");
  world.put(Item{{"taskId", Value("other")}, {"taskStatus", Value("TAKEN")}, {"taskCreated", Value::number(1)}});
  world.pass(milliseconds(2'000));
  world.queues->drain();
  auto released = world.queues->release_held(BootTime::max());
  world.pass(milliseconds(500));
  ASSERT_TRUE(released.is_ready());
  EXPECT_EQ(world.status("b"), "PENDING");
  EXPECT_EQ(world.read("c").int_or("attempt", -1), 0);
  EXPECT_FALSE(world.read("c").contains("error"));
  EXPECT_EQ(world.status("other"), "TAKEN") << "not ours";
  Queue& second = start(short_leases());
  EXPECT_EQ(ids(take(second, 9)), "c b a");
  EXPECT_EQ(world.read("c").int_or("attempt", -1), 1);
}

TEST_P(WakeupTest, ATaskThatKillsTheDaemonIsDeadInTheEnd) {
  for (int life = 0; life < 3; ++life) {
    Queue& queue = start(short_leases());
    if (life == 0) create(queue, {"a"});
    EXPECT_EQ(take(queue)->size(), 1u);
  }
  start(short_leases());
  EXPECT_EQ(world.status("a"), "DEAD");
}

TEST_P(WakeupTest, LeasesOfOthersRunFromFirstSight) {
  Item other{{"taskId", Value("other")},        {"taskStatus", Value("TAKEN")},    {"taskCreated", Value::number(1)},
             {"lease", Value("elsewhere:x:1")}, {"leaseMs", Value::number(5'000)}, {"attempt", Value::number(1)}};
  Queue& queue = start(short_leases());
  world.put(other);
  world.put(Item{{"taskId", Value("sdk")}, {"taskStatus", Value("TAKEN")}, {"taskCreated", Value::number(2)}});
  world.pass(milliseconds(4'000));
  other.set("leaseBeat", Value::number(1));  // Its holder lives.
  world.put(other);
  world.pass(milliseconds(4'500));
  EXPECT_EQ(world.status("other"), "TAKEN") << "a first sight of a new beat starts anew";
  EXPECT_EQ(world.status("sdk"), "TAKEN") << "without a lease of its own: the queue's default";
  world.pass(milliseconds(5'000));
  EXPECT_EQ(world.read("other").string_or("error"), "lease ended");
  EXPECT_EQ(world.read("sdk").string_or("error"), "lease ended");
  EXPECT_EQ(take(queue, 9)->size(), 2u);
}

TEST_P(WakeupTest, StartIsPublishedAsLongAsThereIsWorkAndNobodyAtIt) {
  QueueSettings settings = short_leases();
  settings.start_topic = "trigger";
  Queue& queue = start(settings);
  world.pass(seconds(20));
  EXPECT_EQ(world.topics.published.size(), 0u) << "nothing to do";
  create(queue, {"a"});
  world.pass(milliseconds(4'900));
  EXPECT_EQ(world.topics.published.size(), 0u) << "the stream's event gets its chance";
  world.pass(milliseconds(1'500));
  EXPECT_EQ(world.topics.published.size(), 1u);
  world.pass(seconds(10));
  EXPECT_GE(world.topics.published.size(), 2u);
  auto before = world.topics.published.size();
  queue.processor_began();
  world.pass(seconds(20));
  EXPECT_EQ(world.topics.published.size(), before);
  queue.processor_ended();
  auto taken = take(queue);
  world.pass(seconds(7));
  EXPECT_EQ(world.topics.published.size(), before);
  world.pass(milliseconds(5'000));  // The lease ends, the backoff passes: no stream event would tell a processor.
  EXPECT_EQ(world.topics.published.size(), before + 1);
}

// The last processor found no task runner. Another one may have one, once its function has changed.
TEST_P(WakeupTest, AQueueOfPullWorkersAsksForAProcessorOnceAMinute) {
  QueueSettings settings = short_leases();
  settings.start_topic = "trigger";
  Queue& queue = start(settings);
  queue.set_pulled(true);
  create(queue, {"a"});
  world.pass(seconds(7));
  EXPECT_EQ(world.topics.published.size(), 1u);
  for (int i = 0; i < 5; ++i) {
    create(queue, {"another"});
    world.pass(seconds(10));
  }
  EXPECT_EQ(world.topics.published.size(), 1u);
  world.pass(seconds(20));
  EXPECT_EQ(world.topics.published.size(), 2u);
  queue.set_pulled(false);  // A processor has found a runner.
  world.pass(seconds(70));
  EXPECT_GE(world.topics.published.size(), 4u);
}

// The sample's wiring, with one link after the other cut.
class Wiring {
 public:
  explicit Wiring(QueueWorld& world, int lost) : world_(world), lost_(lost) {
    process_.environment = {{"QUEUE_TABLE", "QueueTable"},    {"TASK_RUNNER", "http://handler/"},
                            {"TRIGGER_TOPIC_ARN", "trigger"}, {"LINGER_MS", "0"},
                            {"MAX_ACTIVE_MS", "1500"},        {"LEASE_MS", "5000"},
                            {"BACKOFF_BASE_MS", "500"},       {"MAX_ATTEMPTS", "20"}};
    trigger_.environment = {{"PROCESS_TASKS_TOPIC_ARN", "process"}};
    world.topics.on_publish = [this](const PublishInput& input) {
      if (!loses()) events_.push_back(input.topic_arn);
    };
  }
  ~Wiring() { world_.topics.on_publish = nullptr; }

  QueueSettings settings() const { return process_settings(process_.environment)->queue; }
  // Something was put: one stream event.
  void inserted() {
    if (!loses()) events_.push_back("insert");
  }
  // Delivers what there is; process_tasks runs once at a time, and what comes meanwhile is lost, as if its retries
  // had been used up.
  void deliver() {
    for (; !events_.empty(); events_.pop_front()) {
      if (loses()) continue;
      if (events_.front() == "process") {
        if (!running_) running_ = std::make_unique<Run>(world_, process_tasks, process_, "{}");
      } else {
        bool stream = events_.front() == "insert";
        triggers_.push_back(std::make_unique<Run>(
            world_, trigger, trigger_,
            stream ? R"({"Records":[{"eventName":"INSERT"}]})" : R"({"Records":[{"EventSource":"aws:sns"}]})"));
      }
    }
    if (running_ && running_->work.is_ready()) running_.reset();
  }
  int links() const { return links_; }

 private:
  struct Run {
    Run(QueueWorld& world, Async<Result<std::string>> (*function)(Context&, Queues&, const EventLog&),
        const FunctionDefinition& definition, std::string payload)
        : context{*world.services, definition, {"id", std::move(payload), world.clock.boot() + seconds(120), "", ""}},
          work(function(context, *world.queues, log)) {}
    EventLog log;
    Context context;
    Async<Result<std::string>> work;
  };
  bool loses() { return links_++ == lost_; }

  QueueWorld& world_;
  const int lost_;
  int links_ = 0;
  FunctionDefinition process_;
  FunctionDefinition trigger_;
  std::deque<std::string> events_;
  std::unique_ptr<Run> running_;
  std::vector<std::unique_ptr<Run>> triggers_;
};

TEST_P(WakeupTest, WhateverSingleEventIsLostEverythingRuns) {
  int links = 1000;
  for (int lost = -1; lost < links; ++lost) {
    QueueWorld here(GetParam(), static_cast<uint64_t>(lost) + 7);
    here.http.duration = milliseconds(400);
    int failures = 3;
    here.http.answer = [&failures](const HttpRequest&) {
      HttpResponse response;
      if (failures-- > 0) response.status = 500;
      return response;
    };
    Wiring wiring(here, lost);
    Queue& queue = here.start(wiring.settings());
    for (int i = 0; i < 6; ++i) {
      here.wait(queue.create(named({("t" + std::to_string(i)).c_str()})));
      wiring.inserted();
      for (int step = 0; step < 5; ++step) {
        here.pass(milliseconds(100));
        wiring.deliver();
      }
    }
    for (int step = 0; step < 600 && here.stock("SUCCESS") < 6; ++step) {
      here.pass(milliseconds(100));
      wiring.deliver();
    }
    ASSERT_EQ(here.stock("SUCCESS"), 6u) << "lost link " << lost;
    if (lost < 0) links = wiring.links();
  }
  EXPECT_GT(links, 10);
}

}  // namespace
}  // namespace freshet
