// A queue that is closed while the daemon goes on, as another daemon serves it, and that is opened again.
#include "functions/queue/attributes.h"
#include "tests/functions/processor_fixture.h"

namespace freshet {
namespace {

using Kind = Settlement::Kind;

class ClosedQueue : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<QueueWorld> world_ = make_world(GetParam(), 1);
  QueueWorld& world = *world_;
  Environment environment{{"QUEUE_TABLE", "QueueTable"},
                          {"TASK_RUNNER", "http://handler/work"},
                          {"LINGER_MS", "0"},
                          {"TASK_TIMEOUT_MS", "60000"},
                          {"LEASE_MS", "2000"},
                          {"BACKOFF_JITTER", "0"},
                          {"BACKOFF_BASE_MS", "1000"},
                          {"TRIGGER_TOPIC_ARN", "trigger"}};

  QueueSettings settings() const { return process_settings(environment)->queue; }
  std::shared_ptr<Queue> start() {
    world.start(settings());
    return world.queues->find_queue("QueueTable");
  }
  std::shared_ptr<Queue> open(Queues& queues) {
    auto opened = world.wait(queues.open("QueueTable", settings()));
    EXPECT_TRUE(opened) << opened.error().message;
    queues.begin();
    world.pass(milliseconds(500));
    return *opened;
  }
  std::unique_ptr<Queues> another_daemon() {
    return std::make_unique<Queues>(*world.services, EventLog(), QueueIdentity{"other", "life"}, nullptr,
                                    &world.store->wall_guard());
  }
  void close() {
    world.queues->close("QueueTable");
    EXPECT_EQ(world.queues->find_queue("QueueTable"), nullptr);
    EXPECT_TRUE(world.queues->names().empty());
  }
  void create(Queue& queue, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      std::vector<NewTask> one(1);
      one[0].id = name;
      const auto created = world.wait(queue.create(std::move(one)))[0];
      ASSERT_TRUE(created) << created.error().message;
      world.pass(milliseconds(2));
    }
  }
  static TakeInput taking(int max, milliseconds wait = milliseconds(0)) {
    TakeInput input;
    input.starts_later = true;  // A processor takes, not a pull worker.
    input.max = max;
    input.wait = wait;
    return input;
  }
  Result<std::vector<TakenTask>> take(Queue& queue, int max = 1) { return world.wait(queue.take(taking(max))); }
  Result<ItemRef> settle(Queue& queue, Kind kind, const TakenTask& task) {
    std::vector<Settlement> one;
    one.push_back(settlement(kind, task));
    return world.wait(queue.settle(std::move(one)))[0];
  }
  Item item(const std::string& id) {
    GetItemInput get;
    get.table = "QueueTable";
    get.key = Item{{"taskId", Value(id)}};
    auto task = world.wait(world.tables->get_item(std::move(get)));
    return task && *task ? task->decode() : Item();
  }
  std::string status(const std::string& id) { return std::string(item(id).string_or(attribute::kStatus)); }
};

constexpr const char* kElsewhere = "queue 'QueueTable' is served by another daemon";

TEST_P(ClosedQueue, TakesThatWaitAreRefused) {
  auto queue = start();
  auto waiting = queue->take(taking(1, seconds(60)));
  world.pass(milliseconds(50));
  ASSERT_FALSE(waiting.is_ready());
  close();
  const auto taken = world.wait(std::move(waiting));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(taken.error().message, kElsewhere);
  create(*queue, {"a"});
  EXPECT_EQ(ids(take(*queue)), std::string("error: ") + kElsewhere);
  EXPECT_EQ(status("a"), "PENDING") << "a create that was on its way is kept";
}

// The next owner does not count it: this daemon had nothing in work when it gave the queue up.
TEST_P(ClosedQueue, AClaimThatIsAnsweredAfterwardsIsGivenBack) {
  if (GetParam() == StoreKind::kEmbedded) GTEST_SKIP() << "it answers at once";
  auto queue = start();
  int claimed = 0;
  for (int wait = 0; wait < 30; ++wait) {
    const std::string id = "t" + std::to_string(wait);
    create(*queue, {id.c_str()});
    auto taking_one = queue->take(taking(1));
    world.pass(milliseconds(wait));
    if (taking_one.is_ready()) {
      ASSERT_TRUE(settle(*queue, Kind::kComplete, taking_one.take()->at(0)));
      continue;
    }
    close();
    EXPECT_EQ(ids(world.wait(std::move(taking_one))), std::string("error: ") + kElsewhere) << wait;
    world.pass(seconds(1));
    const Item now = item(id);
    claimed += now.int_or(attribute::kUpdated, 0) > now.int_or(attribute::kCreated, 0) ? 1 : 0;
    EXPECT_EQ(status(id), "PENDING") << wait;
    queue = open(*world.queues);
    const auto again = take(*queue);
    ASSERT_TRUE(again && again->size() == 1) << wait;
    EXPECT_EQ((*again)[0].task.decode().int_or("attempt", 0), 1) << "it has not begun before";
    ASSERT_TRUE(settle(*queue, Kind::kComplete, (*again)[0]));
  }
  EXPECT_GT(claimed, 0);
}

// The next owner may have read the pauses before.
TEST_P(ClosedQueue, APauseThatIsWrittenWhileItIsGivenUpIsNotAcknowledged) {
  if (GetParam() == StoreKind::kEmbedded) GTEST_SKIP() << "it writes a pause at once";
  auto queue = start();
  PauseInput input;
  input.reason = "a test";
  auto pausing = queue->pause(std::move(input), Actor{});
  ASSERT_FALSE(pausing.is_ready());
  close();
  const auto paused = world.wait(std::move(pausing));
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().message, kElsewhere);
}

TEST_P(ClosedQueue, ItIsDestroyedOnceNobodyUsesIt) {
  auto queue = start();
  const std::weak_ptr<Queue> there = queue;
  world.queues->close("no such queue");
  EXPECT_EQ(world.queues->closing(), 0u);
  close();
  world.pass(seconds(10));
  EXPECT_EQ(world.queues->closing(), 1u) << "somebody has it";
  queue.reset();
  EXPECT_FALSE(there.expired());
  world.pass(milliseconds(300));
  EXPECT_TRUE(there.expired());
  EXPECT_EQ(world.queues->closing(), 0u);
}

// A queue that moves away and comes back.
TEST_P(ClosedQueue, WhatIsInWorkCountsWhenTheQueueIsOpenedAgain) {
  auto queue = start();
  create(*queue, {"a", "b"});
  const auto taken = take(*queue, 2);
  ASSERT_EQ(taken->size(), 2u);
  world.queues->set_left_elsewhere([](const std::string&) { return size_t{1}; });
  close();
  const auto again = open(*world.queues);
  EXPECT_EQ(again->left_elsewhere(), 3u) << "those of this daemon, and one that another daemon has";
  ASSERT_TRUE(settle(*queue, Kind::kComplete, (*taken)[0]));
  EXPECT_EQ(again->left_elsewhere(), 2u);
  ASSERT_TRUE(settle(*queue, Kind::kRelease, (*taken)[1]));
  EXPECT_EQ(again->left_elsewhere(), 1u);
}

TEST_P(ClosedQueue, WhatIsHeldIsSettledAfterwards) {
  auto queue = start();
  const std::weak_ptr<Queue> there = queue;
  create(*queue, {"a", "b"});
  const auto taken = take(*queue, 2);
  ASSERT_EQ(taken->size(), 2u);
  close();
  ASSERT_TRUE(settle(*queue, Kind::kComplete, (*taken)[0]));
  ASSERT_TRUE(settle(*queue, Kind::kRelease, (*taken)[1]));
  EXPECT_EQ(status("b"), "SUCCESS");
  EXPECT_EQ(status("a"), "PENDING");
  EXPECT_EQ(queue->held(), 0u);
  queue.reset();
  world.pass(milliseconds(500));
  EXPECT_TRUE(there.expired());
}

// The end of a lease is up to the daemon that serves the queue.
TEST_P(ClosedQueue, ALeaseThatNobodyRenewsIsForgotten) {
  auto queue = start();
  const std::weak_ptr<Queue> there = queue;
  create(*queue, {"a"});
  ASSERT_EQ(take(*queue)->size(), 1u);
  close();
  queue.reset();
  world.pass(milliseconds(1500));
  EXPECT_FALSE(there.expired());
  world.pass(seconds(2));
  EXPECT_TRUE(there.expired());
  EXPECT_EQ(status("a"), "TAKEN");
}

TEST_P(ClosedQueue, ItDoesNothingByItself) {
  auto queue = start();
  create(*queue, {"held"});
  ASSERT_EQ(take(*queue)->size(), 1u);
  std::vector<NewTask> tasks(2);
  tasks[0].id = "delayed";
  tasks[0].delay = seconds(2);
  tasks[1].id = "late";
  tasks[1].deadline_in = seconds(2);
  for (auto& created : world.wait(queue->create(std::move(tasks)))) ASSERT_TRUE(created) << created.error().message;
  close();
  const size_t published = world.topics.published.size();
  Item keyed{
      {"taskId", Value("theirs")}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(world.now_ms())}};
  keyed.set("key", Value("k"));
  world.put(std::move(keyed));
  world.pass(seconds(60));
  EXPECT_EQ(status("held"), "TAKEN");
  EXPECT_EQ(status("delayed"), "DELAYED");
  EXPECT_EQ(status("late"), "PENDING");
  EXPECT_EQ(world.read("theirs").string_or("liveKey"), "");
  EXPECT_EQ(world.topics.published.size(), published);
  if (GetParam() != StoreKind::kEmbedded) {
    const uint64_t before = world.store_calls();
    world.pass(seconds(60));
    // The books of an engine's table are counted now and then, whoever serves the queue.
    if (GetParam() == StoreKind::kLate) {
      EXPECT_EQ(world.store_calls(), before);
    }
  }
}

TEST_P(ClosedQueue, ARunGoesOnAndItsTaskStaysHeld) {
  auto queue = start();
  const std::weak_ptr<Queue> there = queue;
  create(*queue, {"a"});
  queue.reset();
  world.http.duration = seconds(8);
  Running running(world, process_tasks, environment);
  world.pass(seconds(1));
  ASSERT_EQ(world.http.requests.size(), 1u);
  close();
  const auto other = another_daemon();
  const auto theirs = open(*other);
  world.pass(seconds(5));
  EXPECT_EQ(ids(take(*theirs, 10)), "");
  EXPECT_FALSE(there.expired());
  world.pass(seconds(4));
  ASSERT_TRUE(running.ended());
  EXPECT_EQ(*running.outcome(world),
            R"({"taken":1,"succeeded":1,"failed":0,"bounced":0,"shed":0,"lost":0,"tailCall":false})");
  EXPECT_EQ(status("a"), "SUCCESS");
  world.pass(milliseconds(500));
  EXPECT_TRUE(there.expired());
}

TEST_P(ClosedQueue, OpenedAgainItLeavesItsOldWorkAlone) {
  auto queue = start();
  create(*queue, {"old"});
  queue.reset();
  world.http.duration = seconds(8);
  Running running(world, process_tasks, environment);
  world.pass(seconds(1));
  close();
  EXPECT_EQ(world.queues->closing(), 1u);
  queue = open(*world.queues);
  create(*queue, {"x", "y"});
  world.pass(seconds(5));
  EXPECT_EQ(ids(take(*queue, 10)), "y x");
  EXPECT_EQ(status("old"), "TAKEN");
  world.pass(seconds(4));
  ASSERT_TRUE(running.ended());
  EXPECT_EQ(world.http.requests.size(), 1u) << "it was not started twice";
  EXPECT_EQ(status("old"), "SUCCESS");
  world.pass(milliseconds(500));
  EXPECT_EQ(world.queues->closing(), 0u);
  EXPECT_EQ(world.queues->find_queue("QueueTable"), queue);
}

// A worker's lease is of the queue that gave it; its heartbeats and its end come to the one that is there.
TEST_P(ClosedQueue, OpenedAgainItSettlesForTheOldOnesWorkers) {
  auto queue = start();
  create(*queue, {"a"});
  const auto taken = take(*queue);
  ASSERT_EQ(taken->size(), 1u);
  queue.reset();
  close();
  queue = open(*world.queues);
  for (int i = 0; i < 10; ++i) {
    world.pass(milliseconds(500));
    ASSERT_TRUE(settle(*queue, Kind::kHeartbeat, (*taken)[0]));
    EXPECT_EQ(ids(take(*queue)), "");
  }
  EXPECT_EQ(world.queues->closing(), 0u) << "the old one knows nothing of the heartbeats";
  ASSERT_TRUE(settle(*queue, Kind::kComplete, (*taken)[0]));
  EXPECT_EQ(status("a"), "SUCCESS");
}

TEST_P(ClosedQueue, AnotherDaemonTakesOver) {
  auto queue = start();
  create(*queue, {"a", "b", "c", "d"});
  const auto held = take(*queue);
  ASSERT_EQ(ids(held), "d");
  close();
  const auto other = another_daemon();
  const auto theirs = open(*other);
  EXPECT_EQ(ids(take(*theirs, 2)), "c b");
  EXPECT_EQ(ids(take(*theirs, 2)), "a");
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(settle(*queue, Kind::kHeartbeat, (*held)[0]));
    world.pass(milliseconds(500));
    EXPECT_EQ(status("d"), "TAKEN");
  }
  queue.reset();
  world.queues.reset();  // Its holder has gone.
  const BootTime gone = world.clock.boot();
  std::string again;
  for (int i = 0; i < 100 && again != "d"; ++i) {
    world.pass(milliseconds(100));
    again = ids(take(*theirs, 1));
  }
  EXPECT_EQ(again, "d");
  EXPECT_LE(world.clock.boot() - gone, milliseconds(2 * 2000 + 500)) << "within two leases";
}

TEST_P(ClosedQueue, WhatMayNotBeOpenedIsNot) {
  auto queue = start();
  create(*queue, {"a"});
  queue.reset();
  bool may = false;
  world.queues->open_only([&may](const std::string& table) { return table != "QueueTable" || may; });
  EXPECT_NE(world.queues->find_queue("QueueTable"), nullptr);
  close();
  const size_t published = world.topics.published.size();
  const auto refused = world.wait(world.queues->open("QueueTable", settings()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message, kElsewhere);
  Running running(world, process_tasks, environment);
  EXPECT_EQ(*running.outcome(world),
            R"({"taken":0,"succeeded":0,"failed":0,"bounced":0,"shed":0,"lost":0,"tailCall":false})");
  const std::string insert =
      R"({"Records":[{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:r:1:table/QueueTable/stream/l"}]})";
  Running woken(world, trigger, {{"PROCESS_TASKS_TOPIC_ARN", "process"}}, insert);
  ASSERT_TRUE(woken.outcome(world));
  EXPECT_EQ(world.topics.published.size(), published);
  EXPECT_EQ(world.queues->find_queue("QueueTable"), nullptr);
  may = true;
  EXPECT_EQ(ids(take(*open(*world.queues))), "a");
}

TEST_P(ClosedQueue, AQueueThatIsGivenUpWhileItIsOpenedIsNotOpened) {
  if (GetParam() == StoreKind::kEmbedded) GTEST_SKIP() << "it opens queues at once";
  start().reset();
  close();
  bool may = true;
  world.queues->open_only([&may](const std::string&) { return may; });
  auto opening = world.queues->open("QueueTable", settings());
  ASSERT_FALSE(opening.is_ready());
  may = false;
  const auto opened = world.wait(std::move(opening));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, kElsewhere);
  EXPECT_EQ(world.queues->find_queue("QueueTable"), nullptr);
}

TEST_P(ClosedQueue, TheStopOfTheDaemonWaitsForItsWorkAndGivesItBack) {
  auto queue = start();
  create(*queue, {"a", "b"});
  const auto taken = take(*queue, 2);
  ASSERT_EQ(taken->size(), 2u);
  close();
  world.queues->drain();
  auto returned = world.queues->all_returned(world.clock.boot() + seconds(1));
  ASSERT_TRUE(settle(*queue, Kind::kComplete, (*taken)[0]));
  EXPECT_FALSE(returned.is_ready());
  EXPECT_FALSE(world.wait(std::move(returned)));
  auto released = world.queues->release_held(BootTime::max());
  while (!released.is_ready()) world.pass(milliseconds(1));
  EXPECT_EQ(status("a"), "PENDING");
  EXPECT_EQ(status("b"), "SUCCESS");
  EXPECT_TRUE(world.wait(world.queues->all_returned(world.clock.boot() + seconds(1))));
}

TEST_P(ClosedQueue, TheStopOfTheDaemonLeavesTasksToPullWorkers) {
  auto queue = start();
  create(*queue, {"a", "b"});
  TakeInput pull = taking(1);
  pull.starts_later = false;
  const auto taken = world.wait(queue->take(pull));
  ASSERT_EQ(taken->size(), 1u);
  close();
  EXPECT_EQ(queue->held(), 0u);
  const auto other = another_daemon();
  const auto owner = open(*other);
  world.queues->drain();
  EXPECT_TRUE(world.wait(world.queues->all_returned(world.clock.boot() + seconds(1))));
  auto released = world.queues->release_held(BootTime::max());
  while (!released.is_ready()) world.pass(milliseconds(1));
  EXPECT_EQ(status("b"), "TAKEN");
  ASSERT_TRUE(settle(*owner, Kind::kComplete, (*taken)[0]));
  EXPECT_EQ(status("b"), "SUCCESS");
}

TEST_P(ClosedQueue, AJobOfManyChangesIsStopped) {
  auto queue = start();
  create(*queue, {"a", "b", "c"});
  BulkInput input;
  input.action = BulkInput::Action::kPurge;
  input.states = {"PENDING"};
  input.rate = 0.1;
  const auto begun = world.wait(queue->start_job(std::move(input), Actor{}));
  ASSERT_TRUE(begun) << begun.error().message;
  close();
  world.pass(seconds(20));
  const auto job = queue->job(begun->id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->phase, BulkJob::Phase::kStopped);
  EXPECT_NE(status("a") + status("b") + status("c"), "") << "not all were purged";
  EXPECT_EQ(world.wait(queue->start_job(BulkInput{}, Actor{})).error().message, kElsewhere);
}

TEST_P(ClosedQueue, ItsHistogramGoesOnWhenItIsOpenedAgain) {
  Metrics metrics;
  Queues queues(*world.services, EventLog(), QueueIdentity{"n", "measured"}, &metrics, &world.store->wall_guard());
  for (const char* name : {"a", "b"}) {
    auto queue = open(queues);
    create(*queue, {name});
    TakeInput pull = taking(1);
    pull.starts_later = false;
    const auto taken = world.wait(queue->take(pull));
    ASSERT_EQ(taken->size(), 1u);
    ASSERT_TRUE(settle(*queue, Kind::kComplete, (*taken)[0]));
    queues.close("QueueTable");
  }
  EXPECT_NE(metrics.text().find("freshet_queue_pickup_seconds_count{queue=\"QueueTable\"} 2"), std::string::npos)
      << metrics.text();
}

INSTANTIATE_TEST_SUITE_P(Stores, ClosedQueue,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

}  // namespace
}  // namespace freshet
