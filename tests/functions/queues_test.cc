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
  World world(false);
  LogCapture lines;
  Queues queues(*world.services, EventLog(world.clock, lines, LogLevel::kInfo), QueueIdentity{"n", "life"}, nullptr,
                &world.store->wall_guard());
  const auto deploy = [&](RunnerKind runner) {
    const auto opened = world.wait(queues.open("QueueTable", with_runner(runner)));
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
  World world(true);
  Queues queues(*world.services, EventLog(), QueueIdentity{"n", "life"}, nullptr, &world.store->wall_guard());
  auto first = queues.open("QueueTable", with_runner(RunnerKind::kNone));
  auto second = queues.open("QueueTable", with_runner(RunnerKind::kFake));
  ASSERT_FALSE(first.is_ready());
  const auto opened = world.wait(std::move(first));
  const auto again = world.wait(std::move(second));
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *opened);
  EXPECT_EQ((*opened)->settings().runner, RunnerKind::kFake) << "the second one's settings come last";
}

}  // namespace
}  // namespace freshet
