// Items that clients put and that are hardly tasks: without a time, with a lease of the wrong type, without room. None
// may wait for ever unseen. In both worlds.
#include <limits>

#include "base/limits.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class OddTasks : public QueueFixture {
 protected:
  static QueueSettings once() {
    QueueSettings settings;
    settings.backoff = {milliseconds(1'000), milliseconds(1'000), 1, 0};
    settings.lease = milliseconds(5'000);
    return settings;
  }
  // Fills the item up to `left` bytes below the bound of an item.
  static Item filled(Item item, size_t left) {
    item.set("fill", Value(""));
    item.set("fill", Value(std::string(limits::kMaxItemBytes - billed_size(item) - left, 'x')));
    return item;
  }
  Item bare(const std::string& id, const std::string& status) {
    return Item{{"taskId", Value(id)}, {"taskStatus", Value(status)}, {"taskCreated", Value::number(world.now_ms())}};
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, OddTasks, ::testing::Values(false, true), store_name);

TEST_P(OddTasks, WhatHasNoTimeIsCountedAndTold) {
  Queue& queue = world.start();
  world.put(Item{{"taskId", Value("undated")}, {"taskStatus", Value("PENDING")}});
  world.put(Item{{"taskId", Value("dated")}, {"taskStatus", Value("PENDING")}, {"taskCreated", Value::number(1)}});
  world.put(Item{{"taskId", Value("never")}, {"taskStatus", Value("DELAYED")}, {"taskCreated", Value::number(1)}});
  world.put(Item{{"taskId", Value("ended")}, {"taskStatus", Value("SUCCESS")}});
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue, 9)), "dated");
  EXPECT_EQ(queue.unserved(), 2u);
}

// It is in no index, so that only the whole table has it; its lease ends all the same, and nobody looks for it again.
TEST_P(OddTasks, AHeldTaskWithoutATimeIsTimed) {
  world.start(once());
  world.put(Item{{"taskId", Value("undated")}, {"taskStatus", Value("TAKEN")}});
  world.pass(milliseconds(2'000));
  Queue& queue = world.start(once());
  world.pass(milliseconds(1'500));
  EXPECT_EQ(world.stock("TAKEN"), 1u) << "its lease lasts";
  EXPECT_TRUE(world.wait(queue.explain("undated"))->why.size() > 0);
  world.pass(milliseconds(6'000));
  EXPECT_EQ(world.stock("TAKEN"), 0u);
  EXPECT_EQ(world.read("undated").string_or("error"), "lease ended");
  expect_balance();
}

// The whole table is not read again and again while a task is held that only it has.
TEST_P(OddTasks, AHeldTaskWithoutATimeIsLookedForOnce) {
  if (!GetParam()) GTEST_SKIP() << "only the late store counts its calls";
  QueueSettings settings = once();
  settings.lease = milliseconds(600'000);
  world.start(settings);
  world.pass(seconds(5));
  const auto calls = [&] {
    const auto before = world.store_calls();
    world.pass(seconds(20));
    return world.store_calls() - before;
  };
  const auto idle = calls();
  world.put(Item{{"taskId", Value("undated")}, {"taskStatus", Value("TAKEN")}});
  world.pass(seconds(5));
  EXPECT_LE(calls(), idle + 3);
}

TEST_P(OddTasks, ALeaseOfTheWrongTypeHasEnded) {
  Queue& queue = world.start(once());
  int n = 0;
  for (auto& lease : {Value::number(7), Value(""), Value(Map{{"a", Value("b")}}), Value::boolean(true)}) {
    Item item = bare("odd" + std::to_string(n++), "TAKEN");
    item.set("lease", lease);
    item.set("leaseMs", Value("long"));
    item.set("leaseBeat", Value("first"));
    world.put(item);
  }
  world.pass(milliseconds(3'000));
  EXPECT_EQ(world.stock("TAKEN"), 0u);
  EXPECT_EQ(world.read("odd0").string_or("error"), "lease ended");
  world.pass(milliseconds(2'000));
  EXPECT_EQ(take(queue, 9)->size(), 4u);
  expect_balance();
}

TEST_P(OddTasks, ATaskThatWasCreatedBeforeAllTimesIsTheOldest) {
  Queue& queue = world.start(once());
  world.put_pending("first", std::numeric_limits<int64_t>::min());
  world.put_pending("second", world.now_ms());
  world.pass(milliseconds(100));
  const auto reading = world.wait(queue.reading());
  ASSERT_TRUE(reading);
  EXPECT_GE(reading->oldest_age, milliseconds(1'800'000'000'000)) << "its age is counted from 1970";
}

TEST_P(OddTasks, ALeaseEndsWithoutRoomForItsHistory) {
  Queue& queue = world.start(once());
  Item item = bare("full", "PENDING");
  item.set("maxAttempts", Value::number(3));
  world.put(filled(item, 150));  // Enough for the claim.
  world.pass(milliseconds(100));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_EQ(ids(take(queue)), "full") << attempt;
    EXPECT_EQ(world.read("full").int_or("attempt", 0), attempt);
    world.pass(milliseconds(8'000));
  }
  EXPECT_EQ(world.status("full"), "DEAD");
  EXPECT_EQ(world.stock("TAKEN"), 0u);
  expect_balance();
}

TEST_P(OddTasks, OfAHistoryTheNewestStaysAndOfAnErrorItsBegin) {
  Queue& queue = world.start(once());
  Item item = bare("full", "PENDING");
  item.set("maxAttempts", Value::number(9));
  world.put(filled(item, 800));
  world.pass(milliseconds(100));
  for (int attempt = 1; attempt <= 5; ++attempt) {
    auto taken = take(queue);
    ASSERT_EQ(ids(taken), "full") << attempt;
    auto failed = settlement(Kind::kFail, taken->at(0));
    failed.error = "error " + std::to_string(attempt) + " " + std::string(5'000, 'e');
    ASSERT_TRUE(settle(queue, failed));
    world.pass(milliseconds(2'000));
  }
  Item now = world.read("full");
  EXPECT_EQ(now.string_or("error").substr(0, 8), "error 5 ");
  const auto& history = now.find("history")->get_if<List>()->elements;
  ASSERT_FALSE(history.empty());
  EXPECT_EQ(history.back().get_if<Map>()->int_or("attempt", 0), 5);
}

TEST_P(OddTasks, ATakenTaskWithoutAnyRoomIsSetAside) {
  world.start(once());
  world.put(filled(bare("full", "TAKEN"), 0));
  world.pass(milliseconds(8'000));
  EXPECT_EQ(world.status("full"), "DEAD");
  world.put(filled(bare("again", "TAKEN"), 0));
  UpdateItemInput ours;
  ours.table = "QueueTable";
  Item dead = bare("dead", "TAKEN");
  dead.set("lease", Value("n:life0:1"));
  world.put(filled(dead, 0));
  world.start(once());
  world.pass(milliseconds(8'000));
  EXPECT_EQ(world.stock("TAKEN"), 0u);
  expect_balance();
}

TEST_P(OddTasks, ASuccessIsRecordedThoughTheResultHasNoRoom) {
  Queue& queue = world.start(once());
  world.put(filled(bare("full", "PENDING"), 110));
  world.pass(milliseconds(100));
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "full");
  auto done = settlement(Kind::kComplete, taken->at(0));
  done.result = Value(std::string(1'000, 'r'));
  ASSERT_TRUE(settle(queue, done));
  EXPECT_EQ(world.status("full"), "SUCCESS");
}

}  // namespace
}  // namespace freshet
