// Changes of a queue's policy in a fleet go with the queue to the next daemon.
#include "functions/queue/queues.h"
#include "tests/functions/world.h"
#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

class KeptPolicies : public ::testing::Test {
 protected:
  // The next daemon that serves the queue.
  Queue& start(bool in_fleet = true) {
    world.queues = std::make_unique<Queues>(*world.services, EventLog(world.clock, lines, LogLevel::kInfo),
                                            QueueIdentity{"n" + std::to_string(++daemons), "life", in_fleet}, nullptr,
                                            &world.store->wall_guard());
    auto opened = world.wait(world.queues->open("QueueTable", settings));
    EXPECT_TRUE(opened) << opened.error().message;
    world.queues->begin();
    world.pass(milliseconds(100));
    return **opened;
  }
  // As a request does it: first for the others, then here.
  void change(Queue& queue, const QueuePolicy& changes) {
    const auto checked = queue.check_policy(changes);
    ASSERT_TRUE(checked) << checked.error().message;
    const auto kept = world.wait(queue.keep_policy(*checked));
    ASSERT_TRUE(kept) << kept.error().message;
    ASSERT_TRUE(queue.change_policy(changes));
  }
  QueuePolicy policy_of_next() { return start().policy(); }

  QueueSettings settings;
  LogCapture lines;
  int daemons = 0;
  QueueWorld world{EngineStore{milliseconds(100), {}}, 1};
};

TEST_F(KeptPolicies, TheNextDaemonHasThem) {
  change(start(), {{"ORDER", "fifo"}, {"RATE_LIMIT", "5"}, {"RATE_BURST", "2"}});
  const QueuePolicy next = policy_of_next();
  EXPECT_EQ(next.at("ORDER"), "fifo");
  EXPECT_EQ(next.at("RATE_LIMIT"), "5");
  EXPECT_EQ(next.at("RATE_BURST"), "2");
  EXPECT_EQ(next.at("MAX_ATTEMPTS"), "5") << "as in the template";
}

TEST_F(KeptPolicies, EachChangeAddsToThoseBefore) {
  change(start(), {{"ORDER", "fifo"}});
  change(start(), {{"RATE_LIMIT", "7"}});
  change(start(), {{"ORDER", "lifo"}});
  const QueuePolicy next = policy_of_next();
  EXPECT_EQ(next.at("ORDER"), "lifo");
  EXPECT_EQ(next.at("RATE_LIMIT"), "7");
}

TEST_F(KeptPolicies, WithoutAFleetTheyEndWithTheDaemon) {
  change(start(false), {{"ORDER", "fifo"}});
  EXPECT_EQ(start(false).policy().at("ORDER"), "lifo");
  EXPECT_EQ(policy_of_next().at("ORDER"), "lifo") << "nothing was stored";
}

TEST_F(KeptPolicies, ADaemonWithAnotherTemplateLeavesThemOut) {
  change(start(), {{"ORDER", "fifo"}});
  settings.max_attempts = 7;
  const QueuePolicy next = policy_of_next();
  EXPECT_EQ(next.at("ORDER"), "lifo");
  EXPECT_EQ(next.at("MAX_ATTEMPTS"), "7");
  EXPECT_EQ(lines.count("POLICY_NOT_KEPT"), 1u);
}

TEST_F(KeptPolicies, ADeploymentEndsThem) {
  Queue& queue = start();
  change(queue, {{"ORDER", "fifo"}});
  ASSERT_TRUE(world.wait(world.queues->open("QueueTable", settings)));
  EXPECT_EQ(queue.policy().at("ORDER"), "lifo");
  world.pass(seconds(1));
  EXPECT_EQ(policy_of_next().at("ORDER"), "lifo");
}

// The next daemon may have read the policy before: the client asks again, and asks that one.
TEST_F(KeptPolicies, ADaemonThatGaveTheQueueUpKeepsNone) {
  Queue& queue = start();
  const auto owned = world.queues->find_queue("QueueTable");
  world.queues->close("QueueTable");
  const auto kept = world.wait(queue.keep_policy({{"ORDER", "fifo"}}));
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, ErrorCode::kUnavailable);
}

// A change under a guard may go back. So it is kept only once it stays.
TEST_F(KeptPolicies, AGuardedChangeIsKeptWhenItStays) {
  Queue& queue = start();
  const InTimeCounts before{.in_time = 100, .late = 0};
  ASSERT_TRUE(queue.change_policy_guarded({{"ORDER", "fifo"}}, {10, seconds(20)}, before));
  world.pass(seconds(5));
  EXPECT_EQ(queue.policy().at("ORDER"), "fifo");
  EXPECT_EQ(policy_of_next().at("ORDER"), "lifo");
  Queue& other = *world.queues->find_queue("QueueTable");
  ASSERT_TRUE(other.change_policy_guarded({{"ORDER", "fifo"}}, {10, seconds(20)}, before));
  world.pass(seconds(40));
  EXPECT_EQ(policy_of_next().at("ORDER"), "fifo");
}

}  // namespace
}  // namespace freshet
