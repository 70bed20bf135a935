// The times of tasks as a part by itself: no store, no loop.
#include "functions/queue/core/task_times.h"

#include <gtest/gtest.h>

#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kNow;
using fixed::kWall;

TEST(TaskTimes, CreationTimesNeverGoBack) {
  QueueSettings settings;
  TaskTimes times(settings);
  times.recovered(kWall);
  EXPECT_EQ(times.create(kWall - milliseconds(5000)), kWall) << "the clock has stepped back";
  EXPECT_EQ(times.create(kWall + milliseconds(1)), kWall + milliseconds(1));
  EXPECT_EQ(times.newest_created(), kWall + milliseconds(1));
  EXPECT_EQ(times.bound(kWall), kWall + milliseconds(1) + settings.created_skew);
}

TEST(TaskTimes, ATaskThatIsDatedAheadWaitsUntilThatHasCome) {
  QueueSettings settings;
  TaskTimes times(settings);
  EXPECT_FALSE(times.has_come(kWall)) << "there is none";
  const int64_t ahead = 1'000'000 + settings.created_skew.count() + 3000;
  EXPECT_EQ(times.dated_ahead(ahead), 1'003'000) << "when it may be taken";
  EXPECT_FALSE(times.has_come(kWall + milliseconds(2999)));
  EXPECT_TRUE(times.has_come(kWall + milliseconds(3000)));
  times.table_lost();
  EXPECT_FALSE(times.has_come(kWall + milliseconds(3000)));
  EXPECT_EQ(times.dated_ahead({}), kNeverMs);
}

TEST(TaskTimes, TheOrderIsThatOfTheSettings) {
  QueueSettings settings;
  TaskTimes times(settings);
  EXPECT_TRUE(times.newest_first(kNow));
  settings.order = Order::kOldestFirst;
  EXPECT_TRUE(times.newest_first(kNow)) << "until it is reported";
  times.follow_order();
  EXPECT_FALSE(times.newest_first(kNow));
}

TEST(TaskTimes, AQuestionForTheEndLeavesItAsItIs) {
  QueueSettings settings;
  settings.order = Order::kAdaptive;
  TaskTimes asked(settings);
  TaskTimes unasked(settings);
  EXPECT_FALSE(asked.newest_first(kNow));
  for (TaskTimes* times : {&asked, &unasked}) {
    times->take_begins(kNow + milliseconds(150));
    EXPECT_FALSE(times->newest_first(kNow + milliseconds(150))) << "until the first take it counts as empty";
    times->take_begins(kNow + milliseconds(250));
    EXPECT_TRUE(times->newest_first(kNow + milliseconds(250)));
  }
}

TEST(TaskTimes, TheMarginIsWhatNineOfTenTasksTake) {
  QueueSettings settings;
  settings.deadline_margin = DeadlineMargin::kP90;
  TaskTimes times(settings);
  EXPECT_EQ(times.margin(true, true, kNow), nanoseconds(0)) << "nothing is known yet";
  for (int i = 1; i <= 20; ++i) times.worked(milliseconds(10 * i), kNow);
  EXPECT_EQ(times.margin(true, true, kNow), times.p90(kNow));
  EXPECT_GE(times.p90(kNow), milliseconds(170));
  EXPECT_LE(times.p10(kNow), milliseconds(40));
  settings.deadline_margin = DeadlineMargin::kYield;
  EXPECT_EQ(times.margin(true, false, kNow), nanoseconds(0)) << "newest first, a slot would only stay empty";
  EXPECT_EQ(times.margin(false, false, kNow), times.p90(kNow));
  EXPECT_EQ(times.margin(false, true, kNow), nanoseconds(0)) << "it is the last one";
}

TEST(TaskTimes, AnUrgentTaskIsWorthItsSlotWhileItHasAChance) {
  QueueSettings settings;
  TaskTimes times(settings);
  EXPECT_EQ(times.enough(kWall, kNow), kWall) << "nothing is known of service times";
  for (int i = 1; i <= 20; ++i) times.worked(milliseconds(100), kNow);
  EXPECT_EQ(times.enough(kWall, kNow), kWall + milliseconds(100));
  const WallTime created = kWall - milliseconds(1000);
  EXPECT_TRUE(times.is_worth_it(created, kWall + milliseconds(200), kWall, kNow));
  EXPECT_FALSE(times.is_worth_it(created, kWall + milliseconds(10), kWall, kNow)) << "no task was ever that quick";
}

}  // namespace
}  // namespace freshet
