// The policies that decide under overload, each alone.
#include <gtest/gtest.h>

#include "functions/queue/policy/admission.h"
#include "functions/queue/policy/breaker.h"
#include "functions/queue/policy/codel.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/policy/margin.h"
#include "functions/queue/policy/take_order.h"

namespace freshet {
namespace {

BootTime at(int64_t ms) {
  return BootTime(milliseconds(ms));
}

TEST(StandingQueue, StandsOnceNeitherEmptyNorYoungForAnInterval) {
  StandingQueue queue;
  EXPECT_FALSE(queue.stands(at(0)));
  EXPECT_FALSE(queue.stands(at(99)));
  queue.empty(at(99));
  EXPECT_FALSE(queue.stands(at(198)));
  queue.took_oldest(milliseconds(4), at(198));  // Young.
  EXPECT_FALSE(queue.stands(at(297)));
  queue.took_oldest(milliseconds(5), at(297));  // Not young.
  EXPECT_TRUE(queue.stands(at(298)));
}

TEST(StandingQueue, StandsUntilItIsEmptyHoweverYoungItsTasks) {
  StandingQueue queue;
  queue.empty(at(0));
  ASSERT_TRUE(queue.stands(at(100)));
  queue.took_oldest(milliseconds(1), at(150));
  EXPECT_TRUE(queue.stands(at(151)));
  queue.empty(at(160));
  EXPECT_FALSE(queue.stands(at(161)));
}

TEST(TakeOrder, AdaptiveGoesNewestFirstWhileTheQueueStands) {
  TakeOrder order(Order::kAdaptive);
  order.found_empty(at(0));
  EXPECT_FALSE(order.newest_first(at(50)));
  EXPECT_TRUE(order.newest_first(at(100)));
  order.set(Order::kOldestFirst);
  EXPECT_FALSE(order.newest_first(at(101)));
  order.set(Order::kNewestFirst);
  EXPECT_TRUE(order.newest_first(at(102)));
}

TEST(Margin, YieldsOnlyWhereASlotWouldStayEmpty) {
  for (const bool newest : {false, true}) {
    for (const bool last : {false, true}) {
      EXPECT_FALSE(margin_applies(DeadlineMargin::kOff, newest, last));
      EXPECT_TRUE(margin_applies(DeadlineMargin::kP90, newest, last));
      EXPECT_EQ(margin_applies(DeadlineMargin::kYield, newest, last), !newest && !last);
    }
  }
}

TEST(Expiry, MarginCountsFromTheMiddleOfTheMillisecond) {
  TaskEnds ends;
  ends.deadline = WallTime(milliseconds(1000));
  const nanoseconds margin = milliseconds(10);
  EXPECT_EQ(expired(ends, WallTime(milliseconds(989)), margin), "");
  EXPECT_EQ(expired(ends, WallTime(milliseconds(990)), margin), "deadline-margin");
  EXPECT_EQ(expired(ends, WallTime(milliseconds(999))), "");
  EXPECT_EQ(expired(ends, WallTime(milliseconds(1000))), "deadline");
}

TEST(Codel, DropsFasterAndFasterWhileTheQueueStands) {
  Codel codel;
  EXPECT_FALSE(codel.drop(milliseconds(4), false, at(0)));
  EXPECT_FALSE(codel.drop(milliseconds(6), false, at(1)));
  EXPECT_FALSE(codel.drop(milliseconds(50), false, at(100)));
  EXPECT_TRUE(codel.drop(milliseconds(100), false, at(101)));
  EXPECT_FALSE(codel.drop(milliseconds(100), false, at(102)));
  EXPECT_TRUE(codel.drop(milliseconds(150), false, at(201)));  // An interval later,
  EXPECT_TRUE(codel.drop(milliseconds(150), false, at(272)));  // then the interval over the root of two.
  EXPECT_FALSE(codel.drop(milliseconds(150), true, at(400)));  // Never the last one.
  EXPECT_FALSE(codel.drop(milliseconds(150), false, at(401)));
}

TEST(DrainRate, IsTheMeanOfTheLastTenSeconds) {
  DrainRate rate;
  EXPECT_EQ(rate.rate(at(0)), 0);
  rate.left(100, at(100));
  EXPECT_EQ(rate.rate(at(200)), 100);
  EXPECT_EQ(rate.rate(at(1200)), 50);
  EXPECT_EQ(rate.rate(at(9999)), 10);
  EXPECT_EQ(rate.rate(at(10'000)), 0);
  rate.left(20, at(100'000));
  EXPECT_EQ(rate.rate(at(100'000)), 2);
}

TEST(Admission, RefusesBeyondTheBoundAndKeepsAShareForCriticalTasks) {
  AdmissionSettings settings;
  EXPECT_FALSE(refused_for(settings, 0, 1'000'000, 0));
  settings.max_waiting = 100;
  settings.reserved_share = 0.25;
  EXPECT_FALSE(refused_for(settings, 0, 74, 10));
  EXPECT_EQ(refused_for(settings, 0, 75, 1), milliseconds(1000));
  EXPECT_EQ(refused_for(settings, 0, 84, 2), milliseconds(5000));
  EXPECT_EQ(refused_for(settings, 0, 75, 1e6), milliseconds(100));
  EXPECT_EQ(refused_for(settings, 0, 75, 0), milliseconds(60'000));
  EXPECT_FALSE(refused_for(settings, settings.critical_priority, 99, 1));
  EXPECT_TRUE(refused_for(settings, settings.critical_priority, 100, 1));
}

TEST(Breaker, OpensAtARefusalAndLetsOneTryAgainAfterAPause) {
  Breaker breaker;
  EXPECT_EQ(breaker.allowed(at(0), 10), 10u);
  breaker.refused(std::nullopt, at(0));
  EXPECT_EQ(breaker.allowed(at(499), 10), 0u);
  EXPECT_EQ(breaker.next(at(10)), at(500));
  EXPECT_EQ(breaker.allowed(at(500), 10), 1u);
  breaker.started(1, at(500));
  EXPECT_EQ(breaker.allowed(at(501), 10), 0u);
  EXPECT_EQ(breaker.allowed(at(1000), 10), 1u);
  breaker.accepted(at(1001));
  EXPECT_EQ(breaker.allowed(at(1001), 10), 10u);
}

TEST(Breaker, HeedsTheTimeThatTheDownstreamAskedFor) {
  Breaker breaker;
  breaker.refused(seconds(30), at(0));
  breaker.accepted(at(10));  // What was under way.
  EXPECT_TRUE(breaker.open());
  EXPECT_EQ(breaker.next(at(10)), at(30'000));
  EXPECT_EQ(breaker.allowed(at(29'999), 4), 0u);
  EXPECT_EQ(breaker.allowed(at(30'000), 4), 1u);
  breaker.started(1, at(30'000));
  breaker.accepted(at(30'100));
  EXPECT_EQ(breaker.allowed(at(30'100), 4), 4u);
  breaker.refused(std::chrono::hours(24), at(40'000));
  EXPECT_EQ(breaker.next(at(40'000)), at(40'000) + Breaker::kLongest);
}

}  // namespace
}  // namespace freshet
