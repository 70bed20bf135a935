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

}  // namespace
}  // namespace freshet
