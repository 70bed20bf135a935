// A queue under overload: it sheds hopeless tasks, refuses too many, and changes its order.
#include "tests/functions/queue_fixture.h"

#include "base/limits.h"
#include "runtime/api/retry_later.h"
#include "tests/sim/sim_files.h"

namespace freshet {
namespace {

class QueueOverload : public QueueFixture {
 protected:
  NewTask due_in(const char* id, milliseconds time) {
    NewTask task;
    task.id = id;
    task.deadline = world.clock.wall() + time;
    return task;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueOverload, ::testing::Bool(), store_name);

TEST_P(QueueOverload, HopelessTasksAreShedWithoutAnyTake) {
  auto& queue = world.start();
  ASSERT_TRUE(create(queue, due_in("late", milliseconds(5000))));
  ASSERT_TRUE(create(queue, due_in("soon", milliseconds(500))));
  create(queue, {"never"});
  world.pass(milliseconds(400));
  EXPECT_EQ(world.status("soon"), "PENDING");
  world.pass(milliseconds(150));
  EXPECT_EQ(world.status("soon"), "SHED");
  EXPECT_EQ(world.status("late"), "PENDING");
  world.pass(milliseconds(5000));
  EXPECT_EQ(world.status("late"), "SHED");
  EXPECT_EQ(world.status("never"), "PENDING");
  const auto sheds = world.wait(queue.sheds(10));
  ASSERT_TRUE(sheds);
  ASSERT_EQ(sheds->size(), 2u);
  EXPECT_EQ((*sheds)[0].decode().string_or("by"), "timer");
  EXPECT_EQ((*sheds)[0].decode().string_or("reason"), "deadline");
  expect_balance();
}

TEST_P(QueueOverload, ADelayedTaskIsShedAtItsDeadlineToo) {
  auto& queue = world.start();
  auto task = due_in("a", milliseconds(2000));
  task.delay = milliseconds(1000);
  ASSERT_TRUE(create(queue, task));
  world.pass(milliseconds(1500));
  EXPECT_EQ(world.status("a"), "PENDING");
  world.pass(milliseconds(1000));
  EXPECT_EQ(world.status("a"), "SHED");
}

TEST_P(QueueOverload, MoreThanOneStepIsShedInTheEnd) {
  world.set_faults({});  // It counts milliseconds: needs the trait of immediate answers, or that each one comes.
  auto& queue = world.start();
  std::vector<NewTask> tasks(1000);
  for (auto& task : tasks) task.deadline = world.clock.wall() + milliseconds(300);
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  world.pass(milliseconds(2000));
  EXPECT_EQ(world.stock("SHED"), 1000u);
  expect_balance();
}

// Each millisecond somebody else writes and waits; what is shed goes to the disk with that.
TEST(QueueShedding, HardlySyncsByItself) {
  SimFiles files(1);
  QueueWorld world(false, 1, &files);
  Queue& queue = world.start();
  constexpr int kOften = 300;
  std::vector<NewTask> tasks(2 * kOften);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].deadline = world.clock.wall() + milliseconds(1000 + i / 2);
  for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  world.pass(milliseconds(1000));
  const uint64_t before = files.syncs();
  for (int i = 0; i < kOften; ++i) {
    Item item{{"taskId", Value("live")}, {"n", Value::number(i)}};
    world.put(std::move(item));
    world.pass(milliseconds(1));
  }
  EXPECT_GT(world.stock("SHED"), 2 * kOften * 9 / 10u);
  EXPECT_LE(files.syncs() - before, kOften + 2u);
  world.pass(seconds(1));
  EXPECT_EQ(world.stock("SHED"), 2u * kOften);
}

// A client wrote a deadline that is none: the task waits like one without, and stands in nobody's way.
TEST_P(QueueOverload, DeadlinesOfNothingKeepNobodyFromBeingShed) {
  auto& queue = world.start();
  for (int i = 0; i < 300; ++i) {
    world.put(Item{{"taskId", Value("odd" + std::to_string(i))},
                   {"taskStatus", Value("PENDING")},
                   {"taskCreated", Value::number(world.now_ms())},
                   {"deadline", Value::number(-i)}});
  }
  ASSERT_TRUE(create(queue, due_in("soon", milliseconds(500))));
  world.pass(seconds(2));
  EXPECT_EQ(world.status("soon"), "SHED");
  EXPECT_EQ(world.stock("PENDING"), 300u);
  const auto before = world.store_calls();
  world.pass(seconds(10));
  EXPECT_LT(world.store_calls() - before, 200u) << "nothing is done in a hot loop";
}

// A task that has no room for its state is set aside; the others go.
TEST_P(QueueOverload, WhatCannotBeShedKeepsNobodyFromBeingShed) {
  auto& queue = world.start();
  for (const auto* id : {"full1", "full2"}) {
    Item full{{"taskId", Value(id)},
              {"taskStatus", Value("PENDING")},
              {"taskCreated", Value::number(world.now_ms())},
              {"deadline", Value::number(world.now_ms() + 400)},
              {"fill", Value("")}};
    full.set("fill", Value(std::string(limits::kMaxItemBytes - billed_size(full), 'x')));
    world.put(full);
  }
  ASSERT_TRUE(create(queue, due_in("soon", milliseconds(500))));
  world.pass(seconds(3));
  EXPECT_EQ(world.status("soon"), "SHED");
  EXPECT_EQ(world.status("full1"), "DEAD");
  EXPECT_EQ(world.status("full2"), "DEAD");
  EXPECT_EQ(queue.punctuality().ends(TaskEnd::kFailed), 2u);
  const auto before = world.store_calls();
  world.pass(seconds(10));
  EXPECT_LT(world.store_calls() - before, 200u) << "nothing is done in a hot loop";
  expect_balance();
}

// While the wall clock is not believed, nothing is shed, and nothing asks all the time whether it may be.
TEST_P(QueueOverload, AClockThatIsNotBelievedDoesNotMakeItSpin) {
  auto& queue = world.start();
  ASSERT_TRUE(create(queue, due_in("soon", seconds(60))));
  world.clock.step_wall(milliseconds(3600 * 1000));
  world.pass(seconds(5));
  EXPECT_EQ(world.status("soon"), "PENDING");
  const auto before = world.store_calls();
  world.pass(seconds(10));
  EXPECT_LT(world.store_calls() - before, 200u);
}

TEST_P(QueueOverload, BeyondTheBoundCreationIsRefusedWithWhenToTryAgain) {
  QueueSettings settings;
  settings.admission.max_waiting = 4;
  settings.admission.reserved_share = 0.25;
  auto& queue = world.start(settings);
  create(queue, {"a", "b", "c"});
  std::vector<NewTask> tasks = named({"d", "e"});
  tasks[1].priority = 50;
  auto answers = world.wait(queue.create(std::move(tasks)));
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().code, ErrorCode::kTooManyRequests);
  EXPECT_NE(std::dynamic_pointer_cast<const RetryLater>(answers[0].error().detail), nullptr);
  EXPECT_TRUE(answers[1]) << "critical tasks have a share of their own";
  EXPECT_EQ(queue.refusals().tasks, 1u);
  EXPECT_EQ(world.status("d"), "");
  auto taken = take(queue, 2);
  ASSERT_EQ(taken->size(), 2u);
  EXPECT_TRUE(create(queue, named({"d"})[0]));
  expect_balance();
}

TEST_P(QueueOverload, AdaptiveGoesNewestFirstWhileWorkStands) {
  QueueSettings settings;
  settings.order = Order::kAdaptive;
  auto& queue = world.start(settings);
  take(queue);  // Empty.
  create(queue, {"a", "b", "c", "d"});
  EXPECT_EQ(ids(take(queue)), "a");
  world.pass(milliseconds(200));
  EXPECT_EQ(ids(take(queue)), "d");
  EXPECT_EQ(ids(take(queue, 5)), "c b");
  create(queue, {"e", "f"});
  EXPECT_EQ(ids(take(queue)), "e") << "it has been empty";
  settings.order = Order::kNewestFirst;
  queue.set_settings(settings);
  create(queue, {"g"});
  EXPECT_EQ(ids(take(queue)), "g") << "the order is changed while the queue is used";
}

}  // namespace
}  // namespace freshet
