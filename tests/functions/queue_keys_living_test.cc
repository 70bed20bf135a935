// Which task of a key lives: waiting tasks that will never start do not hold their key, and a task that was to make
// room lives on when the task that was to replace it is gone. In both worlds.
#include <algorithm>

#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueKeysLiving : public QueueFixture {
 protected:
  static NewTask keyed(const std::string& id, bool replace = false) {
    NewTask task;
    task.id = id;
    task.key = "k";
    task.replace = replace;
    return task;
  }
  // One task in work, and a newer one that came to replace it.
  std::vector<TakenTask> one_and_two(Queue& queue, NewTask two = keyed("two", true), milliseconds lease = seconds(60)) {
    EXPECT_TRUE(create(queue, keyed("one", true)));
    TakeInput input;
    input.lease = lease;
    auto taken = world.wait(queue.take(input));
    EXPECT_EQ(ids(taken), "one");
    EXPECT_TRUE(create(queue, std::move(two))->created);
    EXPECT_EQ(world.read("one").string_or("replacedBy"), "two");
    return std::move(*taken);
  }
  void cancel(Queue& queue, const char* id) {
    auto cancelled = world.wait(queue.cancel({id}))[0];
    ASSERT_TRUE(cancelled) << cancelled.error().message;
    ASSERT_EQ(world.status(id), "CANCELLED");
  }
  void remove(const char* id) {
    DeleteItemInput gone;
    gone.table = "QueueTable";
    gone.key.set("taskId", Value(id));
    ASSERT_TRUE(world.wait(world.store->delete_item(gone)));
  }
  void expect_one_lives(Queue& queue) {
    world.pass(seconds(30));  // Longer than any backoff here.
    EXPECT_FALSE(world.read("one").contains("replacedBy"));
    auto taken = take(queue, 9);
    ASSERT_EQ(ids(taken), "one");
    ASSERT_TRUE(settle(queue, Kind::kComplete, taken->at(0)));
    expect_balance();
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueKeysLiving, ::testing::Values(false, true), store_name);

TEST_P(QueueKeysLiving, ADelayedTaskWhoseDeadlineHasPassedDoesNotHoldItsKey) {
  Queue& queue = world.start();
  NewTask doomed = keyed("doomed");
  doomed.delay = seconds(3'600);
  doomed.deadline = world.clock.wall() + seconds(1);
  ASSERT_TRUE(create(queue, doomed)->created);
  world.pass(seconds(2));
  auto next = keyed("next");
  next.delay = seconds(60);
  next.deadline = world.clock.wall() + seconds(90);
  const auto made = create(queue, next);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->created) << "answered with " << made->id;
  EXPECT_EQ(world.status("doomed"), "SHED");
  EXPECT_EQ(world.read("doomed").string_or("shedReason"), "deadline");
  EXPECT_EQ(world.wait(queue.sheds(1))->at(0).decode().string_or("by"), "create");
  EXPECT_EQ(create(queue, keyed("again"))->id, "next") << "it can still be started";
  expect_balance();
}

TEST_P(QueueKeysLiving, NorDoesOneWhoseDelayEndsTooLate) {
  Queue& queue = world.start();
  NewTask doomed = keyed("doomed");
  doomed.delay = seconds(60);
  doomed.deadline = world.clock.wall() + seconds(30);
  ASSERT_TRUE(create(queue, doomed)->created);
  EXPECT_TRUE(create(queue, keyed("next"))->created);
  EXPECT_EQ(world.status("doomed"), "SHED");
  EXPECT_EQ(ids(take(queue)), "next");
}

TEST_P(QueueKeysLiving, NorDoesOneWhoseTtlHasPassed) {
  Queue& queue = world.start();
  NewTask doomed = keyed("doomed");
  doomed.ttl = seconds(30);
  doomed.delay = seconds(60);
  ASSERT_TRUE(create(queue, doomed)->created);
  EXPECT_TRUE(create(queue, keyed("next"))->created);
  EXPECT_EQ(ids(take(queue, 9)), "next");
}

// However the work on the first task ends, and whatever happened to the task that was to replace it.
TEST_P(QueueKeysLiving, ATaskLivesOnWhenItsReplacementIsGone) {
  for (const char* gone : {"cancelled", "shed", "expired", "deleted"}) {
    for (const char* how : {"fail", "release", "lease", "restart"}) {
      SCOPED_TRACE(std::string(gone) + ", " + how);
      Queue* queue = &world.start();
      NewTask two = keyed("two", true);
      const std::string became = gone;
      if (became == "shed") two.deadline = world.clock.wall() + seconds(1);
      if (became == "expired") two.ttl = seconds(1);
      auto one = one_and_two(*queue, two, milliseconds(5'000));
      if (became == "cancelled") cancel(*queue, "two");
      if (became == "deleted") remove("two");
      world.pass(milliseconds(2'500));
      const std::string end = how;
      if (end == "fail" || end == "release") {
        ASSERT_TRUE(settle(*queue, end == "fail" ? Kind::kFail : Kind::kRelease, one.at(0)));
      }
      if (end == "lease") world.pass(milliseconds(4'000));
      if (end == "restart") queue = &world.start();
      expect_one_lives(*queue);
      EXPECT_EQ(world.read("one").int_or("attempt", 0), end == "release" ? 1 : 2);
      remove("one");
      remove("two");
    }
  }
}

TEST_P(QueueKeysLiving, TheLastOfManyThatWasCancelledLeavesTheOneInWork) {
  Queue& queue = world.start();
  auto one = one_and_two(queue);
  for (int i = 3; i < 300; ++i) ASSERT_TRUE(create(queue, keyed(std::to_string(i), true))->created);
  cancel(queue, "299");
  ASSERT_TRUE(settle(queue, Kind::kFail, one.at(0)));
  expect_one_lives(queue);
}

TEST_P(QueueKeysLiving, OneThatCameAfterTheCancelledOneReplacesIt) {
  Queue& queue = world.start();
  auto one = one_and_two(queue);
  cancel(queue, "two");
  ASSERT_TRUE(create(queue, keyed("three", true))->created);
  ASSERT_TRUE(settle(queue, Kind::kFail, one.at(0)));
  EXPECT_EQ(world.status("one"), "CANCELLED");
  EXPECT_EQ(ids(take(queue, 9)), "three");
}

// A create of the key, and the end of the one in work, whichever the store hears first.
TEST_P(QueueKeysLiving, OneThatComesWhileItFailsReplacesIt) {
  for (int pause = 0; pause < 12; ++pause) {
    SCOPED_TRACE(pause);
    Queue& queue = world.start();
    auto one = one_and_two(queue);
    cancel(queue, "two");
    std::vector<Settlement> failed{settlement(Kind::kRelease, one.at(0))};
    auto settling = queue.settle(std::move(failed));
    world.pass(milliseconds(pause));
    std::vector<NewTask> three;
    three.push_back(keyed("three", true));
    auto creating = queue.create(std::move(three));
    ASSERT_TRUE(world.wait(std::move(settling))[0]);
    ASSERT_TRUE(world.wait(std::move(creating))[0]->created);
    auto taken = take(queue, 9);
    EXPECT_EQ(ids(taken), "three") << "none after a newer one, and none beside it";
    ASSERT_TRUE(settle(queue, Kind::kComplete, taken->at(0)));
    EXPECT_EQ(ids(take(queue, 9)), "");
    EXPECT_EQ(world.status("one"), "CANCELLED");
    for (const char* id : {"one", "two", "three"}) remove(id);
    world.pass(milliseconds(100));
  }
}

TEST_P(QueueKeysLiving, OneThatARedriveBroughtBackCounts) {
  Queue& queue = world.start();
  auto one = one_and_two(queue);
  cancel(queue, "two");
  ASSERT_EQ(*world.wait(queue.redrive({"CANCELLED", {"two"}, 1, {}})), 1u);
  ASSERT_TRUE(settle(queue, Kind::kFail, one.at(0)));
  EXPECT_EQ(world.status("one"), "CANCELLED");
  EXPECT_EQ(ids(take(queue, 9)), "two");
}

TEST_P(QueueKeysLiving, ANewerOneThatHasRunCounts) {
  Queue& queue = world.start();
  auto one = one_and_two(queue);
  Item done = world.read("two");
  done.set("taskStatus", Value("SUCCESS"));
  done.erase("liveKey");
  world.put(std::move(done));  // By a client.
  world.pass(milliseconds(100));
  ASSERT_TRUE(settle(queue, Kind::kFail, one.at(0)));
  EXPECT_EQ(world.status("one"), "CANCELLED") << "an older one must not run after it";
}

// A mark that came in the moment in which the task was given back.
TEST_P(QueueKeysLiving, AMarkedTaskThatWaitsLivesOnToo) {
  Queue& queue = world.start();
  auto one = one_and_two(queue);
  Item marked = world.read("one");
  ASSERT_TRUE(settle(queue, Kind::kComplete, one.at(0)));
  marked.set("taskStatus", Value("PENDING"));
  for (const char* name : {"lease", "leaseMs", "takenBy"}) marked.erase(name);
  world.put(marked);
  world.pass(milliseconds(100));
  auto two = take(queue, 9);
  ASSERT_EQ(ids(two), "two") << "and the one makes room";
  EXPECT_EQ(world.status("one"), "CANCELLED");
  ASSERT_TRUE(settle(queue, Kind::kRelease, two->at(0)));
  cancel(queue, "two");
  world.put(std::move(marked));
  world.pass(milliseconds(100));
  EXPECT_EQ(ids(take(queue, 9)), "one");
  EXPECT_FALSE(world.read("one").contains("replacedBy"));
}

TEST_P(QueueKeysLiving, ExplainKnowsWhetherAReplacementIsLeft) {
  Queue& queue = world.start();
  one_and_two(queue);
  const auto says = [&] {
    const auto why = sentences(*world.wait(queue.explain("one")));
    return std::any_of(why.begin(), why.end(), [](const std::string& line) {
      return line == "a newer task of its key waits for it, so that it will not be tried again: two";
    });
  };
  EXPECT_TRUE(says());
  cancel(queue, "two");
  EXPECT_FALSE(says());
}

// The store refuses to mark the one in work, and the one that was to replace it is cancelled before it does.
TEST(QueueKeysLivingFull, WhatCouldNotBeMarkedLivesOnToo) {
  QueueWorld world(true);
  Queue& queue = world.start();
  const auto create = [&](const char* id) {
    NewTask task;
    task.id = id;
    task.key = "k";
    task.replace = true;
    ASSERT_TRUE(world.wait(queue.create({task}))[0]->created);
  };
  create("one");
  auto one = world.wait(queue.take(TakeInput{}));
  ASSERT_EQ(ids(one), "one");
  world.refuse_edits(true);
  create("two");
  world.refuse_edits(false);
  ASSERT_TRUE(world.wait(queue.cancel({"two"}))[0]);
  ASSERT_TRUE(world.wait(queue.settle({settlement(Settlement::Kind::kRelease, one->at(0))}))[0]);
  world.pass(seconds(3));
  EXPECT_EQ(ids(world.wait(queue.take(TakeInput{}))), "one");
}

}  // namespace
}  // namespace freshet
