// Pausing a queue, a group, a key: what takes give out, what goes on, what a restart keeps. In both worlds.
#include "functions/queue/pauses.h"

#include "tables/owned/split_tables.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

// Holds transactions back, or loses their answers.
class SlowTables final : public SplitTables {
 public:
  explicit SlowTables(Tables& tables, Scheduler& scheduler) : SplitTables(tables, tables), go_on(scheduler) {}
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override {
    if (holds) co_await go_on.future();
    auto work = SplitTables::transact_write(std::move(input));
    auto written = co_await work;
    if (!loses_answers) co_return written;
    co_return fail(ErrorCode::kUnknownOutcome, "no answer");
  }
  Promise<bool> go_on;
  bool holds = false;
  bool loses_answers = false;
};

class QueuePauses : public QueueFixture {
 protected:
  Result<Pause> pause(Queue& queue, Pause::Of of = Pause::Of::kQueue, const std::string& name = {},
                      std::optional<milliseconds> lasts = {}) {
    PauseInput input{of, name, "the downstream is down", lasts};
    return world.wait(queue.pause(std::move(input), {"AKID", "127.0.0.1:4711", "r-1"}));
  }
  Result<void> resume(Queue& queue, Pause::Of of = Pause::Of::kQueue, std::string name = {}) {
    return world.wait(queue.resume(of, std::move(name), {"AKID", "127.0.0.1:4711", "r-2"}));
  }
  static NewTask task(const std::string& id, const std::string& group, const std::string& key = {}) {
    NewTask out;
    out.id = id;
    out.group = group;
    out.key = key;
    return out;
  }
  std::vector<std::string> audited() {
    std::vector<std::string> out;
    const auto lines = world.wait(world.queues->audit().newest(100, "QueueTable"));
    for (const auto& line : *lines) {
      const Item item = line.decode();
      out.push_back(std::string(item.string_or("who")) + " " + std::string(item.string_or("what")) + " " +
                    std::string(item.string_or("detail")));
    }
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueuePauses, ::testing::Values(false, true), store_name);

TEST_P(QueuePauses, APausedQueueGivesNothingOutUntilItIsResumed) {
  Queue& queue = world.start();
  create(queue, {"held"});
  auto held = take(queue);
  ASSERT_EQ(ids(held), "held");
  ASSERT_TRUE(pause(queue));
  create(queue, {"a", "b"});  // Creation goes on.
  EXPECT_EQ(ids(take(queue, 9)), "");
  EXPECT_FALSE(*world.wait(queue.has_work()));
  EXPECT_TRUE(settle(queue, Kind::kComplete, held->at(0)));  // Tasks in work continue.
  EXPECT_EQ(world.wait(queue.stats())->state, "paused");
  ASSERT_TRUE(resume(queue));
  EXPECT_EQ(world.wait(queue.stats())->state, "running");
  EXPECT_TRUE(*world.wait(queue.has_work()));
  EXPECT_EQ(ids(take(queue, 9)), "b a");
  expect_balance();
}

TEST_P(QueuePauses, APauseThatBeginsWhileTheClockIsTooEarlyIsAsLong) {
  Queue& queue = world.start();
  world.clock.step_wall(-milliseconds(3'600'000));
  ASSERT_TRUE(pause(queue, Pause::Of::kQueue, "", milliseconds(60'000)));
  world.clock.step_wall(milliseconds(3'600'000));
  create(queue, {"a"});
  world.pass(milliseconds(30'000));
  EXPECT_EQ(world.wait(queue.stats())->state, "paused");
  world.pass(milliseconds(31'000));
  EXPECT_EQ(ids(take(queue, 9)), "a");
}

TEST_P(QueuePauses, ATakeThatWaitsGetsATaskWhenTheQueueIsResumed) {
  Queue& queue = world.start();
  ASSERT_TRUE(pause(queue));
  TakeInput input;
  input.wait = milliseconds(60'000);
  auto waiting = queue.take(input);
  create(queue, {"a"});
  world.pass(milliseconds(5'000));
  EXPECT_FALSE(waiting.is_ready());
  ASSERT_TRUE(resume(queue));
  EXPECT_EQ(ids(world.wait(std::move(waiting))), "a");
}

TEST_P(QueuePauses, APauseOutlivesTheDaemon) {
  Queue* queue = &world.start();
  create(*queue, {"a"});
  ASSERT_TRUE(pause(*queue));
  ASSERT_TRUE(pause(*queue, Pause::Of::kGroup, "eu"));
  queue = &world.start();
  EXPECT_EQ(ids(take(*queue, 9)), "");
  const auto stats = *world.wait(queue->stats());
  ASSERT_EQ(stats.pauses.size(), 2u);
  EXPECT_EQ(stats.pauses[0].reason, "the downstream is down");
  EXPECT_EQ(stats.pauses[0].by, "AKID");
  EXPECT_EQ(stats.pauses[1].name, "eu");
  ASSERT_TRUE(resume(*queue));
  queue = &world.start();
  EXPECT_EQ(ids(take(*queue, 9)), "a");
  EXPECT_EQ(world.wait(queue->stats())->pauses.size(), 1u);
}

TEST_P(QueuePauses, APausedGroupHoldsUpNoOther) {
  Queue& queue = world.start();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(create(queue, task("eu-" + std::to_string(i), "eu")));
  ASSERT_TRUE(pause(queue, Pause::Of::kGroup, "eu"));
  ASSERT_TRUE(create(queue, task("us-0", "us")));
  for (int i = 40; i < 80; ++i) ASSERT_TRUE(create(queue, task("eu-" + std::to_string(i), "eu")));
  EXPECT_TRUE(*world.wait(queue.has_work()));
  EXPECT_EQ(ids(take(queue, 9)), "us-0");
  EXPECT_EQ(ids(take(queue, 9)), "");
  EXPECT_FALSE(*world.wait(queue.has_work()));
  EXPECT_EQ(world.wait(queue.stats())->state, "running");
  ASSERT_TRUE(resume(queue, Pause::Of::kGroup, "eu"));
  EXPECT_EQ(take(queue, 100)->size(), 80u);
  expect_balance();
}

TEST_P(QueuePauses, APausedKeyHoldsUpNoOther) {
  Queue& queue = world.start();
  create(queue, {"oldest"});
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i);
    ASSERT_TRUE(create(queue, task("of-" + name, "", "key-" + name)));
    ASSERT_TRUE(pause(queue, Pause::Of::kKey, "key-" + name));
  }
  EXPECT_TRUE(*world.wait(queue.has_work()));
  EXPECT_EQ(ids(take(queue)), "oldest");
  EXPECT_EQ(ids(take(queue)), "");
  EXPECT_FALSE(*world.wait(queue.has_work()));
  ASSERT_TRUE(resume(queue, Pause::Of::kKey, "key-7"));
  EXPECT_EQ(ids(take(queue, 9)), "of-7");
}

// Clients may put many tasks of one key. They are passed over, however many of them come first.
TEST_P(QueuePauses, APausedKeyWithManyTasksHoldsUpNoOther) {
  Queue& queue = world.start();
  for (const bool in_lanes : {false, true}) {
    const std::string prefix = in_lanes ? "lane-" : "";
    ASSERT_TRUE(create(queue, task(prefix + "other", in_lanes ? "eu" : "")));
    world.pass(milliseconds(10));
    for (int i = 0; i < 300; ++i) {
      Item item{{"taskId", Value(prefix + std::to_string(i))}, {"taskStatus", Value("PENDING")}};
      item.set("taskCreated", Value::number(world.now_ms()));
      item.set("key", Value("k"));
      if (in_lanes) item.set("group", Value("eu"));
      world.put(std::move(item));
    }
    ASSERT_TRUE(pause(queue, Pause::Of::kKey, "k"));
    world.pass(milliseconds(500));
    EXPECT_EQ(ids(take(queue)), prefix + "other");
    EXPECT_EQ(ids(take(queue)), "");
    ASSERT_TRUE(resume(queue, Pause::Of::kKey, "k"));
    EXPECT_EQ(take(queue, 1000)->size(), 300u);
  }
}

TEST_P(QueuePauses, DeadlinesGoOnWhileAQueueIsPaused) {
  Queue& queue = world.start();
  ASSERT_TRUE(pause(queue));
  NewTask late;
  late.id = "late";
  late.deadline = world.clock.wall() + milliseconds(2'000);
  ASSERT_TRUE(create(queue, std::move(late)));
  world.pass(milliseconds(4'000));
  EXPECT_EQ(world.status("late"), "SHED");
  expect_balance();
}

TEST_P(QueuePauses, APauseWithATimeEndsByItself) {
  Queue& queue = world.start();
  create(queue, {"a"});
  ASSERT_TRUE(pause(queue, Pause::Of::kQueue, {}, milliseconds(600'000)));
  TakeInput input;
  input.wait = milliseconds(700'000);
  auto waiting = queue.take(input);
  world.pass(milliseconds(599'000));
  EXPECT_FALSE(waiting.is_ready());
  world.pass(milliseconds(2'000));
  ASSERT_TRUE(waiting.is_ready());
  EXPECT_EQ(ids(waiting.take()), "a");
  world.pass(milliseconds(1'000));
  EXPECT_EQ(audited().at(0), "freshet resume queue 'QueueTable', whose pause was over");
  EXPECT_TRUE(world.wait(world.start().stats())->pauses.empty());
}

// While the daemon is down time goes on, too.
TEST_P(QueuePauses, APauseWhoseTimeEndedWhileTheDaemonWasDownIsOver) {
  Queue* queue = &world.start();
  create(*queue, {"a"});
  ASSERT_TRUE(pause(*queue, Pause::Of::kQueue, {}, milliseconds(10'000)));
  world.queues.reset();
  world.pass(milliseconds(20'000));
  queue = &world.start();
  EXPECT_EQ(ids(take(*queue)), "a");
}

TEST_P(QueuePauses, NoStartIsPublishedForAPausedQueue) {
  QueueSettings settings;
  settings.start_topic = "topic";
  Queue& queue = world.start(settings);
  ASSERT_TRUE(pause(queue));
  create(queue, {"a"});
  world.topics.published.clear();
  world.pass(milliseconds(30'000));
  EXPECT_TRUE(world.topics.published.empty());
  ASSERT_TRUE(resume(queue));
  world.pass(milliseconds(1'000));
  EXPECT_FALSE(world.topics.published.empty());
}

TEST_P(QueuePauses, ExplainSaysWhoPausedAndWhy) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, task("a", "eu")));
  ASSERT_TRUE(pause(queue, Pause::Of::kGroup, "eu", milliseconds(60'000)));
  const auto explanation = world.wait(queue.explain("a"));
  ASSERT_TRUE(explanation);
  const auto why = sentences(*explanation);
  const std::string wanted =
      "its group is paused since 2027-01-15T08:00:00Z until 2027-01-15T08:01:00Z by AKID: the "
      "downstream is down (`freshet resume` lets it go on; deadline and ttl go on meanwhile)";
  EXPECT_TRUE(std::find(why.begin(), why.end(), wanted) != why.end()) << ::testing::PrintToString(why);
}

TEST_P(QueuePauses, EachChangeHasItsLine) {
  Queue& queue = world.start();
  ASSERT_TRUE(pause(queue, Pause::Of::kKey, "k"));
  ASSERT_TRUE(resume(queue, Pause::Of::kKey, "k"));
  const auto lines = audited();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].rfind("AKID resume key 'k' of queue 'QueueTable', which was paused since ", 0), 0u) << lines[0];
  EXPECT_EQ(lines[1].rfind("AKID pause key 'k' of queue 'QueueTable' since ", 0), 0u) << lines[1];
}

TEST_P(QueuePauses, WhatIsNotPausedCannotBeResumed) {
  Queue& queue = world.start();
  EXPECT_EQ(resume(queue).error().message, "queue 'QueueTable' is not paused");
  ASSERT_TRUE(pause(queue, Pause::Of::kGroup, "eu"));
  const auto none = resume(queue);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kConflict);
  EXPECT_EQ(none.error().message, "queue 'QueueTable' is not paused; paused are: group 'eu'");
}

TEST_P(QueuePauses, WrongPausesAreRefused) {
  Queue& queue = world.start();
  EXPECT_EQ(pause(queue, Pause::Of::kGroup, "").error().message, "the name of a group has 1 to 256 bytes");
  EXPECT_EQ(pause(queue, Pause::Of::kKey, std::string(257, 'k')).error().message,
            "the name of a key has 1 to 256 bytes");
  EXPECT_EQ(pause(queue, Pause::Of::kQueue, "", milliseconds(1)).error().message,
            "a pause lasts from 1 s to 366 days, or until it is resumed");
  EXPECT_TRUE(audited().empty());
}

TEST_P(QueuePauses, ThereIsABoundOnPauses) {
  Queue& queue = world.start();
  for (size_t i = 0; i < Pauses::kMost; ++i) ASSERT_TRUE(pause(queue, Pause::Of::kKey, "k" + std::to_string(i)));
  const auto more = pause(queue, Pause::Of::kKey, "more");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(pause(queue, Pause::Of::kKey, "k7"));  // It is there already.
  ASSERT_TRUE(resume(queue, Pause::Of::kKey, "k500"));
  EXPECT_TRUE(pause(queue, Pause::Of::kKey, "more"));
  EXPECT_EQ(world.wait(world.start().stats())->pauses.size(), Pauses::kMost);
}

// A client may hang up before the store has answered: the stored pause is in force all the same.
TEST_P(QueuePauses, APauseOfAClientThatHangsUpIsInForce) {
  Queue& queue = world.start();
  create(queue, {"a"});
  { auto asked = queue.pause({Pause::Of::kQueue, {}, {}, {}}, {}); }
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue)), "");
  { auto asked = queue.resume(Pause::Of::kQueue, {}, {}); }
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue)), "a");
}

// Changes that overlap on a store that answers late leave what the last one says, and no slot twice.
TEST_P(QueuePauses, ChangesThatOverlapAreMadeOneAfterTheOther) {
  Queue& queue = world.start();
  std::vector<Async<Result<Pause>>> pauses;
  for (int i = 0; i < 5; ++i) {
    pauses.push_back(queue.pause({Pause::Of::kGroup, "g" + std::to_string(i), {}, {}}, {}));
  }
  auto gone = queue.resume(Pause::Of::kGroup, "g0", {});
  for (auto& one : pauses) ASSERT_TRUE(world.wait(std::move(one)));
  ASSERT_TRUE(world.wait(std::move(gone)));
  EXPECT_EQ(world.wait(world.start().stats())->pauses.size(), 4u);
}

TEST_P(QueuePauses, ALateWriteOfAFormerOwnerReplacesNothing) {
  SlowTables tables(*world.tables, world.scheduler);
  Services& there = *world.services;
  world.services = std::make_unique<Services>(
      Services{tables, there.topics, there.scheduler, there.random, there.http, there.spawner});
  Queue& queue = world.start();
  tables.holds = true;
  auto late = queue.pause({Pause::Of::kGroup, "eu", "", {}}, {"AKID", "", ""});
  world.pass(milliseconds(100));
  PutItemInput put;
  put.table = "freshet.queues";
  put.item = pause_item({Pause::Of::kGroup, "us", "", "the next owner", world.clock.wall(), {}});
  put.item.set("queue", Value("QueueTable"));
  put.item.set("slot", Value::number(Pauses::kLastSlot));
  ASSERT_TRUE(world.wait(world.store->put_item(put)));
  tables.holds = false;
  tables.go_on.set(true);
  const auto refused = world.wait(std::move(late));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the pauses of queue 'QueueTable' have changed: try again");
  ASSERT_TRUE(pause(queue, Pause::Of::kGroup, "eu"));
  const auto stats = world.wait(world.start().stats());
  ASSERT_EQ(stats->pauses.size(), 2u);
  EXPECT_EQ(stats->pauses[1].name, "us");
  world.queues.reset();  // Before its store.
}

TEST_P(QueuePauses, AWriteWithoutAnAnswerIsRecognised) {
  SlowTables tables(*world.tables, world.scheduler);
  Services& there = *world.services;
  world.services = std::make_unique<Services>(
      Services{tables, there.topics, there.scheduler, there.random, there.http, there.spawner});
  Queue& queue = world.start();
  tables.loses_answers = true;
  const auto paused = pause(queue, Pause::Of::kGroup, "eu");
  ASSERT_TRUE(paused) << paused.error().message;
  EXPECT_EQ(resume(queue, Pause::Of::kGroup, "eu").error().code, ErrorCode::kUnknownOutcome);
  tables.loses_answers = false;
  EXPECT_TRUE(resume(queue, Pause::Of::kGroup, "eu")) << "it had gone, and nobody had been told";
  EXPECT_TRUE(pause(queue, Pause::Of::kGroup, "us"));
  world.queues.reset();  // Before its store.
}

}  // namespace
}  // namespace freshet
