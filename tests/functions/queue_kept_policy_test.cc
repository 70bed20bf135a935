// Changes of a queue's policy in a fleet go with the queue to the next daemon.
#include "functions/queue/queues.h"
#include "tests/functions/world.h"
#include "tests/sim/log_capture.h"
#include "tests/sim/seeds.h"

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
  void change(Queue& queue, const QueuePolicy& changes) {
    const auto changed = world.wait(queue.change_policy_for_all(changes));
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(*changed, queue.policy());
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
  EXPECT_EQ(lines.count("POLICY_ENDED"), 1u);
  settings.max_attempts = 5;
  EXPECT_EQ(policy_of_next().at("ORDER"), "lifo") << "it has ended for all";
  EXPECT_EQ(lines.count("POLICY_ENDED"), 1u);
}

// An event may open the queue as well as the fleet.
TEST_F(KeptPolicies, ASecondOpeningEndsNothing) {
  change(start(), {{"ORDER", "fifo"}});
  Queue& queue = start();
  ASSERT_TRUE(world.wait(world.queues->open("QueueTable", settings)));
  EXPECT_EQ(queue.policy().at("ORDER"), "fifo");
  EXPECT_EQ(policy_of_next().at("ORDER"), "fifo");
}

TEST_F(KeptPolicies, TwoChangesAtOnceBothHold) {
  Queue& queue = start();
  auto one = queue.change_policy_for_all({{"ORDER", "fifo"}});
  auto other = queue.change_policy_for_all({{"MAX_ATTEMPTS", "9"}});
  ASSERT_TRUE(world.wait(std::move(one)));
  ASSERT_TRUE(world.wait(std::move(other)));
  for (const QueuePolicy& policy : {queue.policy(), policy_of_next()}) {
    EXPECT_EQ(policy.at("ORDER"), "fifo");
    EXPECT_EQ(policy.at("MAX_ATTEMPTS"), "9");
  }
}

TEST_F(KeptPolicies, ADeploymentDuringAChangeLosesNeither) {
  change(start(), {{"MAX_ATTEMPTS", "8"}});
  Queue& queue = start();
  auto changing = queue.change_policy_for_all({{"ORDER", "fifo"}});
  settings.lease = seconds(7);
  auto deploying = world.queues->deploy("QueueTable", settings);
  ASSERT_TRUE(world.wait(std::move(changing)));
  ASSERT_TRUE(world.wait(std::move(deploying)));
  world.pass(seconds(1));
  const QueuePolicy here = queue.policy();
  EXPECT_EQ(here.at("LEASE_MS"), "7000");
  EXPECT_EQ(here.at("MAX_ATTEMPTS"), "5") << "that change was made before the deployment";
  EXPECT_EQ(policy_of_next(), here);
}

// It has not noticed yet that another daemon serves the queue.
TEST_F(KeptPolicies, TheFormerOwnerReplacesNothing) {
  change(start(), {{"ORDER", "fifo"}});
  auto former = std::move(world.queues);
  const auto stale = former->find_queue("QueueTable");
  change(start(), {{"MAX_ATTEMPTS", "9"}});
  const auto changed = world.wait(stale->change_policy_for_all({{"ORDER", "lifo"}}));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(stale->policy().at("ORDER"), "fifo");
  const QueuePolicy next = policy_of_next();
  EXPECT_EQ(next.at("ORDER"), "fifo");
  EXPECT_EQ(next.at("MAX_ATTEMPTS"), "9");
  former.reset();
}

// Answers get lost, writes come late and twice: what was answered holds, and what was refused does not.
TEST(KeptPoliciesOverTime, WhatWasAnsweredHoldsForTheNextDaemon) {
  for (const uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimFaults faults = SimFaults::some();
    faults.everywhere = true;
    QueueWorld world{EngineStore{milliseconds(100), faults}, seed};
    Random random(seed);
    std::set<std::string> possible = {"5"};  // The values that the next daemon may have.
    for (int life = 1; life <= 6; ++life) {
      world.queues =
          std::make_unique<Queues>(*world.services, EventLog(), QueueIdentity{"n" + std::to_string(life), "life", true},
                                   nullptr, &world.store->wall_guard());
      auto opened = world.wait(world.queues->open("QueueTable", QueueSettings()));
      for (int tries = 0; !opened && tries < 20; ++tries) {
        world.pass(seconds(1));
        opened = world.wait(world.queues->open("QueueTable", QueueSettings()));
      }
      ASSERT_TRUE(opened) << opened.error().message;
      Queue& queue = **opened;
      std::string now = queue.policy().at("MAX_ATTEMPTS");
      ASSERT_TRUE(possible.contains(now)) << now;
      possible = {now};
      for (uint64_t i = random.below(4); i > 0; --i) {
        const std::string wanted = std::to_string(6 + random.below(50));
        const auto changed = world.wait(queue.change_policy_for_all({{"MAX_ATTEMPTS", wanted}}));
        if (changed) possible.clear();
        const bool is_unknown = !changed && changed.error().code == ErrorCode::kUnknownOutcome;
        if (changed || is_unknown) possible.insert(wanted);
        if (changed) now = wanted;
        EXPECT_EQ(queue.policy().at("MAX_ATTEMPTS"), now);
      }
    }
  }
}

TEST_F(KeptPolicies, ADeploymentEndsThem) {
  Queue& queue = start();
  change(queue, {{"ORDER", "fifo"}});
  ASSERT_TRUE(world.wait(world.queues->deploy("QueueTable", settings)));
  EXPECT_EQ(queue.policy().at("ORDER"), "lifo");
  world.pass(seconds(1));
  EXPECT_EQ(policy_of_next().at("ORDER"), "lifo");
}

// The next daemon may have read the policy before: the client asks again, and asks that one.
TEST_F(KeptPolicies, ADaemonThatGaveTheQueueUpKeepsNone) {
  Queue& queue = start();
  const auto owned = world.queues->find_queue("QueueTable");
  world.queues->close("QueueTable");
  const auto changed = world.wait(queue.change_policy_for_all({{"ORDER", "fifo"}}));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kUnavailable);
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
