// The facts about whoever works on a queue's tasks, and the calls that RATE_LIMIT counts.
#include "functions/queue/policy/downstream.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

Downstream limited_to(double rate, int burst = 0) {
  WorkSettings work;
  work.rate_limit = rate;
  work.rate_burst = burst;
  Downstream out;
  out.follow(work);
  return out;
}

TEST(Downstream, ItsTroubleIsNewsOnceAndAgainWhenItGetsWorse) {
  Downstream downstream;
  downstream.set_runner("http://one");
  EXPECT_TRUE(downstream.bounced("busy", true, wall(5)));
  EXPECT_FALSE(downstream.bounced("still busy", true, wall(6)));
  EXPECT_TRUE(downstream.bounced("gone", false, wall(7))) << "it cannot be reached now";
  EXPECT_FALSE(downstream.bounced("busy", true, wall(8)));
  ASSERT_TRUE(downstream.trouble);
  EXPECT_EQ(downstream.trouble->runner, "http://one");
  EXPECT_EQ(downstream.trouble->message, "busy");
  EXPECT_EQ(downstream.trouble->since, wall(5));
  EXPECT_EQ(downstream.trouble->bounces, 4u);
  downstream.set_runner("http://one");
  EXPECT_TRUE(downstream.trouble);
  downstream.set_runner("http://other");
  EXPECT_FALSE(downstream.trouble) << "that was another one's";
}

TEST(Downstream, FollowsItsSettings) {
  Downstream downstream;
  EXPECT_EQ(downstream.allowed(boot_at(0), 7), 7u) << "no limit";
  WorkSettings work;
  work.rate_limit = 10;
  downstream.follow(work);
  EXPECT_EQ(downstream.starts_a_second(work), 10);
  EXPECT_EQ(downstream.allowed(boot_at(0), 7), 1u);
  work.rate_adaptive = true;
  work.adaptive = true;
  downstream.follow(work);
  ASSERT_TRUE(downstream.rate && downstream.concurrency);
  EXPECT_EQ(downstream.rate_number, 1u);
  EXPECT_EQ(downstream.starts_a_second(work), downstream.rate->rate());
  work.rate_most = 50;
  downstream.follow(work);
  EXPECT_EQ(downstream.rate_number, 1u) << "the same one, within other bounds";
  downstream.follow(WorkSettings());
  EXPECT_FALSE(downstream.rate || downstream.concurrency);
  downstream.follow(work);
  EXPECT_EQ(downstream.rate_number, 2u);
  EXPECT_EQ(downstream.concurrency_number, 2u);
}

TEST(Downstream, NoBurstIsSavedWhileTheBreakerIsOpen) {
  Downstream downstream = limited_to(10, 30);
  ASSERT_EQ(downstream.allowed(boot_at(0), 100), 30u);
  downstream.breaker.refused(std::nullopt, boot_at(0));
  EXPECT_EQ(downstream.allowed(boot_at(1), 100), 1u);
}

TEST(RatedCall, ItsChargeIsThatOfItsAnswer) {
  Downstream downstream = limited_to(10, 30);
  ASSERT_EQ(downstream.allowed(boot_at(0), 100), 30u);
  RatedCall dear(downstream, boot_at(0), 5);
  EXPECT_EQ(downstream.allowed(boot_at(0), 100), 25u);
  dear.accepted(boot_at(0), {}, 8);
  EXPECT_EQ(downstream.allowed(boot_at(0), 100), 22u);
  RatedCall never(downstream, boot_at(0), 2);
  EXPECT_EQ(downstream.allowed(boot_at(0), 100), 20u);
  never.never_began();
  EXPECT_EQ(downstream.allowed(boot_at(0), 100), 22u) << "what was charged is given back";
  never.never_began();
  EXPECT_EQ(downstream.allowed(boot_at(0), 100), 22u) << "once";
  RatedCall lost(downstream, boot_at(0), 2);
  lost.unanswered();
  EXPECT_EQ(downstream.allowed(boot_at(0), 100), 20u) << "it may have been taken";
}

TEST(RatedCall, IsLearntFromUntilItIsAnsweredAndTheLimitIsTheSame) {
  WorkSettings work;
  work.rate_adaptive = true;
  Downstream downstream;
  downstream.follow(work);
  RatedCall answered(downstream, boot_at(0));
  EXPECT_TRUE(answered.is_learnt());
  answered.accepted(boot_at(5));
  EXPECT_FALSE(answered.is_learnt());
  RatedCall refused(downstream, boot_at(0));
  refused.refused(boot_at(5));
  EXPECT_FALSE(refused.is_learnt());
  RatedCall open(downstream, boot_at(0));
  downstream.follow(WorkSettings());
  EXPECT_FALSE(open.is_learnt());
  downstream.follow(work);
  EXPECT_FALSE(open.is_learnt()) << "that is another limit";
}

}  // namespace
}  // namespace freshet
