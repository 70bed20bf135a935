// Cancelling tasks that wait and tasks that are held. In both worlds.
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueCancel : public QueueFixture {};

INSTANTIATE_TEST_SUITE_P(Stores, QueueCancel, ::testing::Values(false, true), store_name);

TEST_P(QueueCancel, CancelEndsWaitingTasksAndMarksHeldOnes) {
  Queue& queue = world.start();
  create(queue, {"waiting", "held", "done"});
  auto taken = take(queue, 2);
  ASSERT_EQ(ids(taken), "done held");
  ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  auto cancelled = world.wait(queue.cancel({"waiting", "held", "done", "none"}));
  EXPECT_EQ(cancelled[0]->decode().string_or("taskStatus"), "CANCELLED");
  EXPECT_EQ(cancelled[1]->decode().string_or("taskStatus"), "TAKEN");
  EXPECT_EQ(cancelled[2].error().message, "task 'done' cannot be cancelled: it is SUCCESS");
  EXPECT_EQ(cancelled[3].error().code, ErrorCode::kNotFound);
  auto beat = settle(queue, Kind::kHeartbeat, (*taken)[1]);
  ASSERT_TRUE(beat);
  EXPECT_TRUE(beat->decode().contains("cancelRequested"));
  ASSERT_TRUE(settle(queue, Kind::kFail, (*taken)[1]));
  EXPECT_EQ(world.status("held"), "CANCELLED");
  EXPECT_EQ(ids(take(queue)), "");
  expect_balance();
}

// A cancel and a failure at the same time: whichever comes first, the task does not wait again.
TEST_P(QueueCancel, ATaskThatIsCancelledWhileItFailsIsNotStartedAgain) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    QueueWorld fresh(GetParam(), seed);
    Queue& queue = fresh.start();
    ASSERT_TRUE(fresh.wait(queue.create(named({"a"})))[0]);
    TakeInput input;
    auto taken = fresh.wait(queue.take(std::move(input)));
    ASSERT_EQ(ids(taken), "a");
    std::vector<Settlement> failure;
    failure.push_back(settlement(Kind::kFail, taken->at(0)));
    auto failing = queue.settle(std::move(failure));
    auto cancelling = queue.cancel({"a"});
    fresh.wait(std::move(failing));
    ASSERT_TRUE(fresh.wait(std::move(cancelling))[0]) << seed;
    fresh.pass(seconds(1));
    EXPECT_EQ(fresh.status("a"), "CANCELLED") << seed;
    EXPECT_FALSE(fresh.read("a").contains("cancelRequested")) << seed;
  }
}

// The heartbeat's answer may come after the cancel's. A client that knows of the cancel must not see the task wait.
TEST_P(QueueCancel, ATaskThatIsCancelledBesideAHeartbeatEndsWhenItFails) {
  for (const auto kind : {Kind::kFail, Kind::kRelease}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      QueueWorld fresh(GetParam(), seed);
      Queue& queue = fresh.start();
      ASSERT_TRUE(fresh.wait(queue.create(named({"a"})))[0]);
      TakeInput input;
      auto taken = fresh.wait(queue.take(std::move(input)));
      ASSERT_EQ(ids(taken), "a");
      std::vector<Settlement> beat;
      beat.push_back(settlement(Kind::kHeartbeat, taken->at(0)));
      auto beating = queue.settle(std::move(beat));
      auto cancelling = queue.cancel({"a"});
      fresh.wait(std::move(beating));
      ASSERT_TRUE(fresh.wait(std::move(cancelling))[0]) << seed;
      std::vector<Settlement> end;
      end.push_back(settlement(kind, taken->at(0)));
      const auto ended = fresh.wait(queue.settle(std::move(end)));
      ASSERT_TRUE(ended[0]) << seed;
      EXPECT_EQ(ended[0]->decode().string_or("taskStatus"), "CANCELLED") << seed;
      EXPECT_FALSE(ended[0]->decode().contains("cancelRequested")) << seed;
    }
  }
}

// As another daemon on the same table does it.
TEST_P(QueueCancel, AMarkThatThisQueueHasNotSeenEndsTheTaskWhenItFails) {
  for (const auto kind : {Kind::kFail, Kind::kRelease}) {
    QueueWorld fresh(GetParam(), 1);
    Queue& queue = fresh.start();
    ASSERT_TRUE(fresh.wait(queue.create(named({"a"})))[0]);
    TakeInput input;
    auto taken = fresh.wait(queue.take(std::move(input)));
    ASSERT_EQ(ids(taken), "a");
    UpdateItemInput mark;
    mark.table = "QueueTable";
    mark.key.set("taskId", Value("a"));
    mark.update = "SET cancelRequested = :t";
    mark.placeholders.values.set(":t", Value::boolean(true));
    ASSERT_TRUE(fresh.wait(fresh.store->update_item(mark)));
    std::vector<Settlement> end;
    end.push_back(settlement(kind, taken->at(0)));
    const auto ended = fresh.wait(queue.settle(std::move(end)));
    ASSERT_TRUE(ended[0]);
    EXPECT_EQ(ended[0]->decode().string_or("taskStatus"), "CANCELLED");
  }
}

// As a daemon leaves it that dies before it ends such a task.
TEST_P(QueueCancel, ATakeEndsATaskThatWasCancelledWhileItWasHeld) {
  Queue& queue = world.start();
  world.put(Item{{"taskId", Value("a")},
                 {"taskStatus", Value("PENDING")},
                 {"taskCreated", Value::number(world.now_ms())},
                 {"attempt", Value::number(1)},
                 {"cancelRequested", Value::boolean(true)}});
  EXPECT_EQ(ids(take(queue, 9)), "");
  EXPECT_EQ(world.status("a"), "CANCELLED");
  ASSERT_EQ(*world.wait(queue.redrive({"CANCELLED", {}, 1000, {}})), 1u);
  EXPECT_EQ(ids(take(queue, 9)), "a");
  expect_balance();
}

// The mark goes with the claim: who starts it again by hand wants it run.
TEST_P(QueueCancel, ATaskThatWasDoneAlthoughItWasCancelledKeepsNoMark) {
  Queue& queue = world.start();
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_TRUE(world.wait(queue.cancel({"a"}))[0]);
  ASSERT_TRUE(world.read("a").contains("cancelRequested"));
  ASSERT_TRUE(settle(queue, Kind::kComplete, taken->at(0)));
  EXPECT_EQ(world.status("a"), "SUCCESS");
  EXPECT_FALSE(world.read("a").contains("cancelRequested"));
  UpdateItemInput again;
  again.table = "QueueTable";
  again.key.set("taskId", Value("a"));
  again.update = "SET taskStatus = :s";
  again.placeholders.values.set(":s", Value("PENDING"));
  ASSERT_TRUE(world.wait(world.store->update_item(again)));
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue)), "a");
  expect_balance();
}

TEST_P(QueueCancel, OnlyAMarkThatIsTrueCancels) {
  Queue& queue = world.start();
  world.put(Item{{"taskId", Value("a")},
                 {"taskStatus", Value("PENDING")},
                 {"taskCreated", Value::number(world.now_ms())},
                 {"maxAttempts", Value::number(9)},
                 {"cancelRequested", Value::boolean(false)}});
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "a");
  ASSERT_TRUE(settle(queue, Kind::kRelease, taken->at(0)));
  EXPECT_EQ(world.status("a"), "PENDING");
  expect_balance();
}

// It will end, so that it does not stand for its key.
TEST_P(QueueCancel, ATaskThatWasCancelledWhileItWasHeldDoesNotHoldItsKey) {
  Queue& queue = world.start();
  world.put(Item{{"taskId", Value("a")},
                 {"taskStatus", Value("PENDING")},
                 {"taskCreated", Value::number(world.now_ms())},
                 {"attempt", Value::number(1)},
                 {"key", Value("k")},
                 {"liveKey", Value("k")},
                 {"cancelRequested", Value::boolean(true)}});
  NewTask task;
  task.id = "b";
  task.key = "k";
  auto made = create(queue, std::move(task));
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->created) << made->id;
  EXPECT_EQ(ids(take(queue, 9)), "b");
  EXPECT_EQ(world.status("a"), "CANCELLED");
  expect_balance();
}

}  // namespace
}  // namespace freshet
