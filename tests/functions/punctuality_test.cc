// The counts of the ends of tasks: totals, and the window of the last minute.
#include "functions/queue/punctuality.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

BootTime boot_seconds(double seconds_of_boot) {
  return BootTime(std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds_of_boot)));
}

TEST(Punctuality, TasksWithoutDeadlineAreInTimeAndCountedApart) {
  Punctuality counts;
  counts.ended(TaskEnd::kInTime, boot_seconds(10), 5);
  counts.ended(TaskEnd::kNoDeadline, boot_seconds(10), 2);
  counts.ended(TaskEnd::kLate, boot_seconds(10));
  counts.ended(TaskEnd::kFailed, boot_seconds(10));
  counts.ended(TaskEnd::kShed, boot_seconds(10), 3);
  const InTimeCounts minute = counts.stats(boot_seconds(10)).last_minute;
  EXPECT_EQ(minute.in_time, 7u);
  EXPECT_EQ(minute.no_deadline, 2u);
  EXPECT_EQ(minute.late, 1u);
  EXPECT_EQ(minute.failed, 1u);
  EXPECT_EQ(minute.shed, 3u);
  EXPECT_EQ(minute.ended(), 12u);
  EXPECT_DOUBLE_EQ(*minute.share(), 7.0 / 12);
  EXPECT_EQ(counts.ends(TaskEnd::kInTime), 5u);
  EXPECT_EQ(counts.ends(TaskEnd::kNoDeadline), 2u);
}

TEST(Punctuality, ThereIsNoShareOfNothing) {
  Punctuality counts;
  counts.refused(3, boot_seconds(1));
  counts.called(boot_seconds(1));
  EXPECT_FALSE(counts.stats(boot_seconds(1)).last_minute.share());
}

TEST(Punctuality, TheWindowForgetsWhatIsAMinuteOld) {
  Punctuality counts;
  counts.ended(TaskEnd::kInTime, boot_seconds(100.9));
  counts.ended(TaskEnd::kLate, boot_seconds(101.0));
  counts.called(boot_seconds(101.0));
  counts.wasted(WastedCall::kLate, boot_seconds(101.5));
  counts.refused(4, boot_seconds(101.9));
  EXPECT_EQ(counts.stats(boot_seconds(159.9)).last_minute.ended(), 2u);
  EXPECT_EQ(counts.stats(boot_seconds(160.0)).last_minute.ended(), 1u);
  EXPECT_EQ(counts.stats(boot_seconds(160.9)).last_minute.refused, 4u);
  const InTimeStats later = counts.stats(boot_seconds(161.0));
  EXPECT_EQ(later.last_minute.ended() + later.last_minute.calls + later.last_minute.wasted + later.last_minute.refused,
            0u);
  EXPECT_EQ(later.since_start.ended(), 2u);
  EXPECT_EQ(later.since_start.wasted, 1u);
  EXPECT_EQ(later.since_start.refused, 4u);
}

TEST(Punctuality, ASecondTakesThePlaceOfTheOneAMinuteBefore) {
  Punctuality counts;
  counts.ended(TaskEnd::kShed, boot_seconds(5), 9);
  counts.ended(TaskEnd::kInTime, boot_seconds(65));
  EXPECT_EQ(counts.stats(boot_seconds(65)).last_minute.ended(), 1u);
  counts.ended(TaskEnd::kInTime, boot_seconds(3605));  // After long silence.
  EXPECT_EQ(counts.stats(boot_seconds(3605)).last_minute.ended(), 1u);
  EXPECT_EQ(counts.stats(boot_seconds(3605)).since_start.ended(), 11u);
}

TEST(Punctuality, EveryReasonHasACounterOfItsOwn) {
  Punctuality counts;
  for (size_t i = 0; i < kWastedCalls; ++i) {
    for (size_t n = 0; n <= i; ++n) counts.wasted(static_cast<WastedCall>(i), boot_seconds(1));
  }
  for (size_t i = 0; i < kRefusals; ++i) {
    for (size_t n = 0; n <= i; ++n) counts.refused_by_downstream(static_cast<DownstreamRefusal>(i));
  }
  for (size_t i = 0; i < kWastedCalls; ++i) EXPECT_EQ(counts.wastes(static_cast<WastedCall>(i)), i + 1);
  for (size_t i = 0; i < kRefusals; ++i)
    EXPECT_EQ(counts.downstream_refusals(static_cast<DownstreamRefusal>(i)), i + 1);
}

TEST(Durations, BoundsAreInclusiveAndRise) {
  Durations durations;
  EXPECT_TRUE(std::is_sorted(Durations::kBounds.begin(), Durations::kBounds.end()));
  for (size_t i = 0; i < Durations::kBounds.size(); ++i) {
    durations.add(Durations::kBounds[i]);
    EXPECT_EQ(durations.bucket(i), 1u);
    durations.add(nanoseconds(Durations::kBounds[i]) + nanoseconds(1));
    EXPECT_EQ(durations.bucket(i + 1), 1u);
    durations = Durations();
  }
  durations.add(milliseconds(-5));  // A clock that was set back.
  EXPECT_EQ(durations.bucket(0), 1u);
  EXPECT_EQ(durations.sum_seconds(), 0);
  durations.add(milliseconds(1'500));
  EXPECT_DOUBLE_EQ(durations.sum_seconds(), 1.5);
}

}  // namespace
}  // namespace freshet
