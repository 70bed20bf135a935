// The policies that decide under overload, each alone.
#include <gtest/gtest.h>

#include "functions/queue/policy/admission.h"
#include "functions/queue/policy/breaker.h"
#include "functions/queue/policy/codel.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/policy/margin.h"
#include "functions/queue/policy/outlook.h"
#include "functions/queue/policy/shed_pace.h"
#include "functions/queue/policy/take_order.h"

namespace freshet {
namespace {

BootTime boot_at(int64_t ms) {
  return BootTime(milliseconds(ms));
}

constexpr nanoseconds kUnknown{0};  // Service time.

bool take_finds_it_stand(StandingQueue& queue, BootTime now, nanoseconds service) {
  queue.take_begins(now, service);
  return queue.stands(now, service);
}

TEST(StandingQueue, StandsOnceNeitherEmptyNorYoungForAnInterval) {
  StandingQueue queue;
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(0), kUnknown));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(99), kUnknown));
  queue.empty(boot_at(99));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(198), kUnknown));
  queue.took_oldest(milliseconds(4), boot_at(198));  // Young.
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(297), kUnknown));
  queue.took_oldest(milliseconds(5), boot_at(297));  // Not young.
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(298), kUnknown));
}

TEST(StandingQueue, StandsUntilItIsEmptyHoweverYoungItsTasks) {
  StandingQueue queue;
  queue.empty(boot_at(0));
  ASSERT_TRUE(take_finds_it_stand(queue, boot_at(100), kUnknown));
  queue.took_oldest(milliseconds(1), boot_at(150));
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(151), kUnknown));
  queue.empty(boot_at(160));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(161), kUnknown));
}

TEST(StandingQueue, LongTasksGiveItLonger) {
  StandingQueue queue;
  queue.empty(boot_at(0));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(399), milliseconds(200)));
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(400), milliseconds(200)));
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(401), milliseconds(900))) << "once it stands it stands";
  EXPECT_EQ(StandingQueue::interval(milliseconds(1)), StandingQueue::kInterval);
}

TEST(StandingQueue, AQuestionChangesNothing) {
  StandingQueue queue;
  EXPECT_FALSE(queue.stands(boot_at(0), kUnknown));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(100), kUnknown)) << "that is the first take";
  EXPECT_TRUE(queue.stands(boot_at(200), kUnknown));
  queue.took_oldest(milliseconds(4), boot_at(200));
  EXPECT_FALSE(queue.stands(boot_at(201), kUnknown)) << "no take has found it standing";
}

TEST(ShedPace, OthersWaitForAStepOnlyWhereItIsBehind) {
  EXPECT_EQ(ShedPace::lull(milliseconds(0)), ShedPace::kLull);
  EXPECT_EQ(ShedPace::lull(-std::chrono::hours(1)), ShedPace::kLull);
  EXPECT_EQ(ShedPace::lull(ShedPace::kLate), ShedPace::kLull);
  EXPECT_EQ(ShedPace::lull(ShedPace::kLate + milliseconds(1)), ShedPace::kLongLull);
  EXPECT_EQ(ShedPace::lull(std::chrono::hours(24)), ShedPace::kLongLull) << "bounded, however late it is";
  static_assert(ShedPace::kLongLull > ShedPace::kLull && ShedPace::kLongLull < milliseconds(2), "half a turn");
}

TEST(ShedPace, LeavesTheOthersMostOfTheTime) {
  EXPECT_EQ(ShedPace::rest(milliseconds(2)), milliseconds(3));
  EXPECT_EQ(ShedPace::rest(nanoseconds(0)), std::chrono::microseconds(500)) << "others get their turn";
  EXPECT_EQ(ShedPace::rest(milliseconds(500)), milliseconds(20)) << "a slow store is not waited for longer";
}

TEST(TakeOrder, AdaptiveGoesNewestFirstWhileTheQueueStands) {
  TakeOrder order(Order::kAdaptive);
  order.found_empty(boot_at(0));
  EXPECT_FALSE(order.newest_first(boot_at(50), kUnknown));
  EXPECT_TRUE(order.newest_first(boot_at(100), kUnknown));
  order.set(Order::kOldestFirst);
  EXPECT_FALSE(order.newest_first(boot_at(101), kUnknown));
  order.set(Order::kNewestFirst);
  EXPECT_TRUE(order.newest_first(boot_at(102), kUnknown));
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
  EXPECT_FALSE(codel.drop(milliseconds(4), false, boot_at(0)));
  EXPECT_FALSE(codel.drop(milliseconds(6), false, boot_at(1)));
  EXPECT_FALSE(codel.drop(milliseconds(50), false, boot_at(100)));
  EXPECT_TRUE(codel.drop(milliseconds(100), false, boot_at(101)));
  EXPECT_FALSE(codel.drop(milliseconds(100), false, boot_at(102)));
  EXPECT_TRUE(codel.drop(milliseconds(150), false, boot_at(201)));  // An interval later,
  EXPECT_TRUE(codel.drop(milliseconds(150), false, boot_at(272)));  // then the interval over the root of two.
  EXPECT_FALSE(codel.drop(milliseconds(150), true, boot_at(400)));  // Never the last one.
  EXPECT_FALSE(codel.drop(milliseconds(150), false, boot_at(401)));
}

TEST(DrainRate, IsTheMeanOfTheLastTenSeconds) {
  DrainRate rate;
  EXPECT_EQ(rate.rate(boot_at(0)), 0);
  rate.left(100, boot_at(100));
  EXPECT_EQ(rate.rate(boot_at(200)), 100);
  EXPECT_EQ(rate.rate(boot_at(1200)), 50);
  EXPECT_EQ(rate.rate(boot_at(9999)), 10);
  EXPECT_EQ(rate.rate(boot_at(10'000)), 0);
  rate.left(20, boot_at(100'000));
  EXPECT_EQ(rate.rate(boot_at(100'000)), 2);
}

std::optional<milliseconds> after(const std::optional<Refusal>& refusal) {
  return refusal ? std::optional(refusal->after) : std::nullopt;
}

TEST(Admission, RefusesBeyondTheBoundAndKeepsAShareForCriticalTasks) {
  AdmissionSettings settings;
  const auto refused = [&](int priority, uint64_t waiting, double rate) {
    return after(refused_for(settings, priority, Room{waiting, 0}, Room{1, 0}, {rate, 0}));
  };
  EXPECT_FALSE(refused(0, 1'000'000, 0));
  settings.max_waiting = 100;
  settings.reserved_share = 0.25;
  EXPECT_FALSE(refused(0, 74, 10));
  EXPECT_EQ(refused(0, 75, 1), milliseconds(1000));
  EXPECT_EQ(refused(0, 84, 2), milliseconds(5000));
  EXPECT_EQ(refused(0, 75, 1e6), milliseconds(100));
  EXPECT_EQ(refused(0, 75, 0), milliseconds(60'000));
  EXPECT_FALSE(refused(settings.critical_priority, 99, 1));
  EXPECT_TRUE(refused(settings.critical_priority, 100, 1));
}

TEST(Admission, BoundsBytesInTheSameWay) {
  AdmissionSettings settings;
  settings.max_waiting_bytes = 10'000;
  settings.reserved_share = 0.2;
  const auto refused = [&](int priority, uint64_t waiting, uint64_t size, double rate) {
    return refused_for(settings, priority, Room{5, waiting}, Room{1, size}, {1, rate});
  };
  EXPECT_FALSE(refused(0, 7'000, 1'000, 1)) << "exactly what others may use";
  EXPECT_EQ(refused(0, 7'001, 1'000, 1)->reason, "max-waiting-bytes");
  EXPECT_EQ(refused(0, 8'000, 1'000, 500)->after, milliseconds(2000));
  EXPECT_FALSE(refused(settings.critical_priority, 9'000, 1'000, 1));
  EXPECT_TRUE(refused(settings.critical_priority, 9'001, 1'000, 1));
  EXPECT_FALSE(refused(0, 20'000, 0, 1)) << "what needs no room is not refused";
}

TEST(Admission, OfTwoBoundsTheOneThatTakesLongerIsNamed) {
  AdmissionSettings settings;
  settings.max_waiting = 10;
  settings.max_waiting_bytes = 1'000;
  settings.reserved_share = 0;
  const Room there{10, 1'000};
  EXPECT_EQ(refused_for(settings, 0, there, {1, 100}, {1, 10})->reason, "max-waiting-bytes");
  EXPECT_EQ(refused_for(settings, 0, there, {1, 100}, {1, 10})->after, milliseconds(10'000));
  EXPECT_EQ(refused_for(settings, 0, there, {1, 100}, {0.1, 1000})->reason, "max-waiting");
}

TEST(Outlook, AFreshTaskWaitsForASlotOrForAllThatAreOlder) {
  EXPECT_EQ(least_wait(true, 1'000, false, 10), milliseconds(100)) << "newest first, never behind the backlog";
  EXPECT_EQ(least_wait(false, 1'000, false, 10), seconds(100));
  EXPECT_EQ(least_wait(false, 1'000, true, 10), nanoseconds(0)) << "somebody waits for it";
  EXPECT_EQ(least_wait(false, 1'000, false, 0), nanoseconds(0)) << "nothing is known";
}

TEST(Outlook, WhatCannotBeDoneInTimeIsRefusedUntilItCould) {
  const WallTime now(seconds(1'000));
  TaskEnds ends;
  const Outlook outlook{seconds(5), milliseconds(200)};
  EXPECT_FALSE(refused_as_late(ends, now, outlook));
  ends.deadline = now + milliseconds(5'201);
  EXPECT_FALSE(refused_as_late(ends, now, outlook));
  ends.deadline = now + milliseconds(3'200);
  EXPECT_EQ(refused_as_late(ends, now, outlook), milliseconds(2'001)) << "two seconds' worth have left then";
  ends.deadline = now + milliseconds(100);
  EXPECT_EQ(refused_as_late(ends, now, outlook), seconds(60)) << "no shorter queue helps";
  ends.deadline = now - milliseconds(1);
  EXPECT_TRUE(refused_as_late(ends, now, {}));
  ends.deadline.reset();
  ends.ttl = now + seconds(6);
  EXPECT_FALSE(refused_as_late(ends, now, outlook)) << "of its ttl only the waiting counts";
  ends.ttl = now + seconds(4);
  EXPECT_TRUE(refused_as_late(ends, now, outlook));
}

TEST(Breaker, OpensAtARefusalAndLetsOneTryAgainAfterAPause) {
  Breaker breaker;
  EXPECT_EQ(breaker.allowed(boot_at(0), 10), 10u);
  breaker.refused(std::nullopt, boot_at(0));
  EXPECT_EQ(breaker.allowed(boot_at(499), 10), 0u);
  EXPECT_EQ(breaker.next(boot_at(10)), boot_at(500));
  EXPECT_EQ(breaker.allowed(boot_at(500), 10), 1u);
  breaker.started(1, boot_at(500));
  EXPECT_EQ(breaker.allowed(boot_at(501), 10), 0u);
  EXPECT_EQ(breaker.allowed(boot_at(1000), 10), 1u);
  breaker.accepted(boot_at(1001));
  EXPECT_EQ(breaker.allowed(boot_at(1001), 10), 10u);
}

TEST(Breaker, HeedsTheTimeThatTheDownstreamAskedFor) {
  Breaker breaker;
  breaker.refused(seconds(30), boot_at(0));
  breaker.accepted(boot_at(10));  // A call that was in progress ends.
  EXPECT_TRUE(breaker.open());
  EXPECT_EQ(breaker.next(boot_at(10)), boot_at(30'000));
  EXPECT_EQ(breaker.allowed(boot_at(29'999), 4), 0u);
  EXPECT_EQ(breaker.allowed(boot_at(30'000), 4), 1u);
  breaker.started(1, boot_at(30'000));
  breaker.accepted(boot_at(30'100));
  EXPECT_EQ(breaker.allowed(boot_at(30'100), 4), 4u);
  breaker.refused(std::chrono::hours(24), boot_at(40'000));
  EXPECT_EQ(breaker.next(boot_at(40'000)), boot_at(40'000) + Breaker::kLongest);
}

}  // namespace
}  // namespace freshet
