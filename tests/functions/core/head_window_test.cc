// The head window as a part by itself: no store, no loop.
#include "functions/queue/core/head_window.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

const WallTime kHeadWindowWall(milliseconds(1'000'000));
const BootTime kHeadWindowNow(seconds(100));

TEST(HeadWindow, CreationTimesNeverGoBack) {
  QueueSettings settings;
  HeadWindow window(settings);
  window.recovered(kHeadWindowWall);
  EXPECT_EQ(window.create(kHeadWindowWall - milliseconds(5000)), kHeadWindowWall) << "the clock has stepped back";
  EXPECT_EQ(window.create(kHeadWindowWall + milliseconds(1)), kHeadWindowWall + milliseconds(1));
  EXPECT_EQ(window.newest_created(), kHeadWindowWall + milliseconds(1));
  EXPECT_EQ(window.bound(kHeadWindowWall), kHeadWindowWall + milliseconds(1) + settings.created_skew);
}

TEST(HeadWindow, ATaskThatIsDatedAheadWaitsUntilThatHasCome) {
  QueueSettings settings;
  HeadWindow window(settings);
  EXPECT_FALSE(window.has_come(kHeadWindowWall)) << "there is none";
  const int64_t ahead = 1'000'000 + settings.created_skew.count() + 3000;
  EXPECT_EQ(window.dated_ahead(ahead), 1'003'000) << "when it may be taken";
  EXPECT_FALSE(window.has_come(kHeadWindowWall + milliseconds(2999)));
  EXPECT_TRUE(window.has_come(kHeadWindowWall + milliseconds(3000)));
  window.table_lost();
  EXPECT_FALSE(window.has_come(kHeadWindowWall + milliseconds(3000)));
  EXPECT_EQ(window.dated_ahead({}), kNeverMs);
}

TEST(HeadWindow, TheOrderIsThatOfTheSettings) {
  QueueSettings settings;
  HeadWindow window(settings);
  EXPECT_TRUE(window.newest_first(kHeadWindowNow));
  settings.order = Order::kOldestFirst;
  EXPECT_TRUE(window.newest_first(kHeadWindowNow)) << "until it is told";
  window.follow_order();
  EXPECT_FALSE(window.newest_first(kHeadWindowNow));
}

TEST(HeadWindow, TheMarginIsWhatNineOfTenTasksTake) {
  QueueSettings settings;
  settings.deadline_margin = DeadlineMargin::kP90;
  HeadWindow window(settings);
  EXPECT_EQ(window.margin(true, true, kHeadWindowNow), nanoseconds(0)) << "nothing is known yet";
  for (int i = 1; i <= 20; ++i) window.worked(milliseconds(10 * i), kHeadWindowNow);
  EXPECT_EQ(window.margin(true, true, kHeadWindowNow), window.p90(kHeadWindowNow));
  EXPECT_GE(window.p90(kHeadWindowNow), milliseconds(170));
  EXPECT_LE(window.p10(kHeadWindowNow), milliseconds(40));
  settings.deadline_margin = DeadlineMargin::kYield;
  EXPECT_EQ(window.margin(true, false, kHeadWindowNow), nanoseconds(0)) << "newest first, a slot would only stay empty";
  EXPECT_EQ(window.margin(false, false, kHeadWindowNow), window.p90(kHeadWindowNow));
  EXPECT_EQ(window.margin(false, true, kHeadWindowNow), nanoseconds(0)) << "it is the last one";
}

TEST(HeadWindow, AnUrgentTaskIsWorthItsSlotWhileItHasAChance) {
  QueueSettings settings;
  HeadWindow window(settings);
  EXPECT_EQ(window.enough(kHeadWindowWall, kHeadWindowNow), kHeadWindowWall) << "nothing is known of service times";
  for (int i = 1; i <= 20; ++i) window.worked(milliseconds(100), kHeadWindowNow);
  EXPECT_EQ(window.enough(kHeadWindowWall, kHeadWindowNow), kHeadWindowWall + milliseconds(100));
  const WallTime created = kHeadWindowWall - milliseconds(1000);
  EXPECT_TRUE(window.is_worth_it(created, kHeadWindowWall + milliseconds(200), kHeadWindowWall, kHeadWindowNow));
  EXPECT_FALSE(window.is_worth_it(created, kHeadWindowWall + milliseconds(10), kHeadWindowWall, kHeadWindowNow))
      << "no task was ever that quick";
}

}  // namespace
}  // namespace freshet
