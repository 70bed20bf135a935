#include "functions/queue/queues.h"

#include <gtest/gtest.h>

#include "tests/functions/world.h"
#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

QueueSettings with_runner(RunnerKind runner) {
  QueueSettings settings;
  settings.runner = runner;
  return settings;
}

// You learn from the log when a queue has no runner that does real work: at the start, and when a deployment changes
// it.
TEST(QueuesTest, ARunnerThatDoesNoWorkIsLogged) {
  QueueWorld world(false);
  LogCapture lines;
  Queues queues(*world.services, EventLog(world.clock, lines, LogLevel::kInfo), QueueIdentity{"n", "life"}, nullptr,
                &world.store->wall_guard());
  const auto deploy = [&](RunnerKind runner) {
    const auto opened = world.wait(queues.deploy("QueueTable", with_runner(runner)));
    ASSERT_TRUE(opened) << opened.error().message;
  };
  deploy(RunnerKind::kNone);
  EXPECT_EQ(lines.count("QUEUE_WITHOUT_RUNNER"), 1u);
  deploy(RunnerKind::kNone);
  EXPECT_EQ(lines.count("QUEUE_WITHOUT_RUNNER"), 1u) << "nothing has changed";
  deploy(RunnerKind::kFake);
  EXPECT_EQ(lines.count("FAKE_RUNNER"), 1u);
  deploy(RunnerKind::kHttp);
  deploy(RunnerKind::kNone);
  EXPECT_EQ(lines.count("QUEUE_WITHOUT_RUNNER"), 2u);
  EXPECT_EQ(lines.count("FAKE_RUNNER"), 1u);
}

// The first event of a table's stream opens its queue, and so does a deployment: on a store that answers late they
// meet.
TEST(QueuesTest, TwoThatOpenAQueueAtTheSameTimeGetTheSameOne) {
  QueueWorld world(true);
  Queues queues(*world.services, EventLog(), QueueIdentity{"n", "life"}, nullptr, &world.store->wall_guard());
  auto first = queues.open("QueueTable", with_runner(RunnerKind::kNone));
  auto second = queues.deploy("QueueTable", with_runner(RunnerKind::kFake));
  ASSERT_FALSE(first.is_ready());
  const auto opened = world.wait(std::move(first));
  const auto again = world.wait(std::move(second));
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *opened);
  EXPECT_EQ((*opened)->settings().runner, RunnerKind::kFake) << "the second one's settings come last";
}

// Three queues on a store that answers late, with a task of each of the first two held.
class ReleasedQueues : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"first", "second", "third"}) {
      TableDefinition table = queue_table();
      table.name = name;
      ASSERT_TRUE(world.wait(world.store->create_table(table)));
      const auto queue = world.wait(queues.open(name, {}));
      ASSERT_TRUE(queue) << queue.error().message;
      if (table.name == "third") continue;
      ASSERT_TRUE(world.wait((*queue)->create(named({"task"})))[0]);
      TakeInput one;
      one.max = 1;
      ASSERT_EQ(ids(world.wait((*queue)->take(one))), "task");
    }
    queues.drain();
  }
  size_t held() const {
    size_t all = 0;
    for (const auto& queue : queues.all()) all += queue->held();
    return all;
  }

  QueueWorld world{true};
  LogCapture lines;
  Queues queues{*world.services, EventLog(world.clock, lines, LogLevel::kInfo), QueueIdentity{"n", "life"}, nullptr,
                &world.store->wall_guard()};
};

TEST_F(ReleasedQueues, AllQueuesGiveBackAtOnce) {
  const uint64_t calls = world.store_calls();
  auto released = queues.release_held(world.clock.boot() + seconds(3));
  EXPECT_EQ(world.store_calls() - calls, 2u) << "none waits for another";
  world.pass(seconds(1));
  EXPECT_TRUE(released.is_ready());
  EXPECT_EQ(held(), 0u);
  world.pass(seconds(3));
  EXPECT_EQ(lines.count("LEASES_RELEASED_AT_STOP"), 2u);
  EXPECT_EQ(lines.count("LEASES_NOT_RELEASED"), 0u);
}

TEST_F(ReleasedQueues, QueuesThatCannotGiveBackInTimeAreLogged) {
  SimFaults silent;
  silent.everywhere = true;
  silent.lost_before = 1;
  silent.timeout = seconds(60);
  world.set_faults(silent);
  auto released = queues.release_held(world.clock.boot() + seconds(3));
  world.pass(milliseconds(2'999));
  EXPECT_FALSE(released.is_ready());
  world.pass(milliseconds(1));
  EXPECT_TRUE(released.is_ready());
  EXPECT_EQ(held(), 2u);
  EXPECT_EQ(lines.count("LEASES_NOT_RELEASED"), 2u) << "the third queue holds nothing";
}

TEST_F(ReleasedQueues, QueuesWhoseStoreRefusesAreLogged) {
  world.refuse_edits(true);
  auto released = queues.release_held(world.clock.boot() + seconds(3));
  world.pass(seconds(3));
  EXPECT_TRUE(released.is_ready());
  EXPECT_EQ(held(), 2u);
  EXPECT_EQ(lines.count("LEASES_RELEASED_AT_STOP"), 0u);
  EXPECT_EQ(lines.count("LEASES_NOT_RELEASED"), 2u);
}

}  // namespace
}  // namespace freshet
