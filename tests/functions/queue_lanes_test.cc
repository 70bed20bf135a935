// Lanes of tasks that clients put, whatever they wrote, and the bound on lanes. In both worlds.
#include "base/limits.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueLanes : public QueueFixture {
 protected:
  static NewTask grouped(const std::string& id, const std::string& group, int priority = 0) {
    NewTask task;
    task.id = id;
    task.group = group;
    task.priority = priority;
    return task;
  }
  // As a client: a PENDING task with further attributes.
  void put_with(const std::string& id, Item more, const std::string& status = "PENDING") {
    more.set("taskId", Value(id));
    more.set("taskStatus", Value(status));
    more.set("taskCreated", Value::number(world.now_ms()));
    world.put(std::move(more));
    world.pass(milliseconds(1));
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueLanes, ::testing::Values(false, true), store_name);

TEST_P(QueueLanes, AJunkLaneIsNoLane) {
  Queue& queue = world.start();
  put_with("before", Item{{"lane", Value("junk")}});
  ASSERT_TRUE(create(queue, grouped("high", "", 5)));
  put_with("after", Item{{"lane", Value("no#such#lane")}});
  put_with("high-sdk", Item{{"lane", Value("junk")}, {"priority", Value::number(5)}});
  world.pass(milliseconds(500));
  EXPECT_EQ(ids(take(queue, 9)), "high-sdk high after before");
  expect_balance();
}

TEST_P(QueueLanes, AnOverLongGroupCountsAsNone) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, grouped("a", "A")));
  put_with("long", Item{{"group", Value(std::string(300, 'g'))}});
  put_with("longer", Item{{"group", Value(std::string(3'000, 'g'))}, {"priority", Value::number(7)}});
  world.pass(milliseconds(500));
  EXPECT_EQ(world.read("long").string_or("lane"), "100##0");
  EXPECT_EQ(world.read("longer").string_or("lane"), "093##0");
  EXPECT_EQ(ids(take(queue, 9)), "longer long a");
}

TEST_P(QueueLanes, TheFirstTaskThatNamesAPriorityMayBeAClients) {
  Queue& queue = world.start();
  create(queue, {"plain"});
  put_with("high", Item{{"priority", Value::number(3)}});
  create(queue, {"newer"});
  world.pass(milliseconds(500));
  EXPECT_EQ(ids(take(queue, 9)), "high newer plain");
}

// A store that answers late may put it behind the look at those that were there before.
TEST_P(QueueLanes, ATaskThatIsOnItsWayWhenTheQueueGetsItsFirstLaneIsServed) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    QueueWorld here(GetParam(), seed);
    Queue& queue = here.start();
    std::vector<NewTask> first;
    first.push_back(grouped("laned", "A"));
    auto laned = queue.create(std::move(first));
    here.pass(milliseconds(seed % 12));
    auto plain = queue.create(named({"plain"}));
    ASSERT_TRUE(here.wait(std::move(laned))[0]);
    ASSERT_TRUE(here.wait(std::move(plain))[0]);
    here.pass(milliseconds(2'500));
    TakeInput input;
    input.max = 9;
    ASSERT_EQ(here.wait(queue.take(input))->size(), 2u);
  }
}

// The first lane is that of a client's task. The create goes on without its client, as its task has a key.
TEST_P(QueueLanes, SoIsOneWhoseClientHasHungUp) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    QueueWorld here(GetParam(), seed);
    Queue& queue = here.start();
    here.put(Item{{"taskId", Value("laned")},
                  {"taskStatus", Value("PENDING")},
                  {"taskCreated", Value::number(here.now_ms())},
                  {"priority", Value::number(3)}});
    here.pass(milliseconds(seed % 40));
    std::vector<NewTask> other = named({"keyed"});
    other[0].key = "k";
    other[0].replace = true;
    { auto given_up = queue.create(std::move(other)); }
    here.pass(milliseconds(2'500));
    TakeInput input;
    input.max = 9;
    ASSERT_EQ(here.wait(queue.take(input))->size(), 2u);
  }
}

TEST(QueueLanesOfMany, OnlyTasksThatNeedANewLaneAreRefusedAtTheBound) {
  QueueWorld world(false);
  Queue& queue = world.start();
  constexpr int kMost = 200'000;
  for (int i = 0; i < kMost - 2;) {
    std::vector<NewTask> many;
    for (; many.size() < 10'000 && i < kMost - 2; ++i) many.emplace_back().group = "group" + std::to_string(i);
    for (auto& created : world.wait(queue.create(std::move(many)))) ASSERT_TRUE(created) << created.error().message;
  }
  std::vector<NewTask> batch(4);
  const char* groups[] = {"", "last", "over", "group7"};
  for (size_t i = 0; i < batch.size(); ++i) batch[i].group = groups[i];
  batch[2].id = "over";
  auto results = world.wait(queue.create(batch));
  EXPECT_TRUE(results[0]);
  EXPECT_TRUE(results[1]) << "there was room for one";
  ASSERT_FALSE(results[2]);
  EXPECT_EQ(results[2].error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(results[2].error().message,
            "queue 'QueueTable' has no room for another lane: a queue may have at most 200000 different pairs of "
            "priority and group");
  EXPECT_TRUE(results[3]);
  EXPECT_EQ(queue.refusals().lanes, 1u);
  world.pass(milliseconds(100));
  const auto refused = world.wait(queue.explain("over"));
  ASSERT_TRUE(refused) << refused.error().message;
  ASSERT_EQ(refused->log.size(), 1u);
  EXPECT_EQ(refused->log[0].decode().string_or("reason"), "max-lanes");
  Item item{{"taskId", Value("sdk")}, {"taskStatus", Value("PENDING")}, {"group", Value("over")}};
  item.set("taskCreated", Value::number(world.now_ms()));
  world.put(std::move(item));
  world.pass(seconds(3));  // Behind all the others in the stream.
  EXPECT_EQ(world.read("sdk").string_or("lane"), "100##0");
}

// Only the first thousand lanes are stored; the others are found again, and forgotten when nothing comes any more.
TEST_P(QueueLanes, LanesBeyondThoseThatAreStoredAreFoundAgain) {
  Queue& queue = world.start();
  std::vector<NewTask> many;
  for (int i = 0; i < 1500; ++i) many.push_back(grouped("g" + std::to_string(i), "group" + std::to_string(i)));
  for (auto& created : world.wait(queue.create(many))) ASSERT_TRUE(created) << created.error().message;
  world.pass(milliseconds(100));
  Queue& again = world.start();
  world.pass(milliseconds(1500));
  const auto first = take(again, 1000);
  EXPECT_EQ(first->size(), 1000u);
  const auto rest = take(again, 1000);
  ASSERT_EQ(rest->size(), 500u);
  std::vector<Settlement> ends;
  for (const auto& task : *first) ends.push_back(settlement(Kind::kComplete, task));
  for (size_t i = 1; i < rest->size(); ++i) ends.push_back(settlement(Kind::kComplete, (*rest)[i]));
  for (auto& ended : world.wait(again.settle(std::move(ends)))) ASSERT_TRUE(ended);
  // Long after all lanes are empty, a task that comes back has its lane again.
  world.pass(seconds(40));
  ASSERT_TRUE(settle(again, Kind::kHeartbeat, (*rest)[0]));
  world.pass(seconds(45));
  ASSERT_TRUE(settle(again, Kind::kRelease, (*rest)[0]));
  world.pass(milliseconds(100));
  EXPECT_EQ(take(again, 1000)->size(), 1u);
  for (const auto* group : {"group7", "group1400"}) {
    ASSERT_TRUE(create(again, grouped(std::string("new-") + group, group)));
    EXPECT_EQ(ids(take(again, 1)), std::string("new-") + group);
  }
}

TEST_P(QueueLanes, ATaskThatAClientEndedDoesNotStandAtTheHead) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, grouped("a", "A")));
  ASSERT_TRUE(create(queue, grouped("b", "A")));
  UpdateItemInput ended;
  ended.table = "QueueTable";
  ended.key.set("taskId", Value("b"));
  ended.update = "SET taskStatus = :s";
  ended.placeholders.values.set(":s", Value("SUCCESS"));
  ASSERT_TRUE(world.wait(world.store->update_item(ended)));
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue, 9)), "a");
  EXPECT_FALSE(world.read("b").contains("lane"));
}

TEST_P(QueueLanes, ADelayedTaskOfAnUnknownGroupIsServedWhenItIsDue) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, grouped("a", "A")));
  put_with("later", Item{{"group", Value("new")}, {"notBefore", Value::number(world.now_ms() + 3'000)}}, "DELAYED");
  world.pass(milliseconds(5'000));
  EXPECT_EQ(world.status("later"), "PENDING");
  EXPECT_EQ(world.read("later").string_or("lane"), "100#new#0");
  EXPECT_EQ(ids(take(queue, 9)), "a later") << "groups take turns";
}

TEST_P(QueueLanes, ADelayedTaskBringsTheFirstLaneWhenItIsDue) {
  Queue& queue = world.start();
  put_with("later", Item{{"group", Value("new")}, {"notBefore", Value::number(world.now_ms() + 3'000)}}, "DELAYED");
  world.pass(milliseconds(5'000));
  EXPECT_EQ(world.read("later").string_or("lane"), "100#new#0");
  EXPECT_EQ(ids(take(queue, 9)), "later");
}

TEST_P(QueueLanes, ATaskWithoutRoomForItsLaneIsSetAside) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, grouped("a", "A")));
  Item full{{"taskId", Value("full")},
            {"taskStatus", Value("PENDING")},
            {"taskCreated", Value::number(world.now_ms())},
            {"fill", Value("")}};
  full.set("fill", Value(std::string(limits::kMaxItemBytes - billed_size(full), 'x')));
  world.put(full);
  world.pass(milliseconds(500));
  EXPECT_EQ(world.status("full"), "DEAD");
  EXPECT_EQ(ids(take(queue, 9)), "a");
  expect_balance();
}

}  // namespace
}  // namespace freshet
