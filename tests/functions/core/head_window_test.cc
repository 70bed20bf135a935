// The head window as a part by itself: no store, no loop.
#include "functions/queue/core/head_window.h"

#include <gtest/gtest.h>

#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kNow;
using fixed::kWall;

TEST(HeadWindow, CreationTimesNeverGoBack) {
  QueueSettings settings;
  HeadWindow window(settings);
  window.recovered(kWall);
  EXPECT_EQ(window.create(kWall - milliseconds(5000)), kWall) << "the clock has stepped back";
  EXPECT_EQ(window.create(kWall + milliseconds(1)), kWall + milliseconds(1));
  EXPECT_EQ(window.newest_created(), kWall + milliseconds(1));
  EXPECT_EQ(window.bound(kWall), kWall + milliseconds(1) + settings.created_skew);
}

TEST(HeadWindow, ATaskThatIsDatedAheadWaitsUntilThatHasCome) {
  QueueSettings settings;
  HeadWindow window(settings);
  EXPECT_FALSE(window.has_come(kWall)) << "there is none";
  const int64_t ahead = 1'000'000 + settings.created_skew.count() + 3000;
  EXPECT_EQ(window.dated_ahead(ahead), 1'003'000) << "when it may be taken";
  EXPECT_FALSE(window.has_come(kWall + milliseconds(2999)));
  EXPECT_TRUE(window.has_come(kWall + milliseconds(3000)));
  window.table_lost();
  EXPECT_FALSE(window.has_come(kWall + milliseconds(3000)));
  EXPECT_EQ(window.dated_ahead({}), kNeverMs);
}

TEST(HeadWindow, TheOrderIsThatOfTheSettings) {
  QueueSettings settings;
  HeadWindow window(settings);
  EXPECT_TRUE(window.newest_first(kNow));
  settings.order = Order::kOldestFirst;
  EXPECT_TRUE(window.newest_first(kNow)) << "until it is told";
  window.follow_order();
  EXPECT_FALSE(window.newest_first(kNow));
}

TEST(HeadWindow, AQuestionForTheEndLeavesItAsItIs) {
  QueueSettings settings;
  settings.order = Order::kAdaptive;
  HeadWindow asked(settings);
  HeadWindow unasked(settings);
  EXPECT_FALSE(asked.newest_first(kNow));
  for (HeadWindow* window : {&asked, &unasked}) {
    window->take_begins(kNow + milliseconds(150));
    EXPECT_FALSE(window->newest_first(kNow + milliseconds(150))) << "until the first take it counts as empty";
    window->take_begins(kNow + milliseconds(250));
    EXPECT_TRUE(window->newest_first(kNow + milliseconds(250)));
  }
}

TEST(HeadWindow, TheMarginIsWhatNineOfTenTasksTake) {
  QueueSettings settings;
  settings.deadline_margin = DeadlineMargin::kP90;
  HeadWindow window(settings);
  EXPECT_EQ(window.margin(true, true, kNow), nanoseconds(0)) << "nothing is known yet";
  for (int i = 1; i <= 20; ++i) window.worked(milliseconds(10 * i), kNow);
  EXPECT_EQ(window.margin(true, true, kNow), window.p90(kNow));
  EXPECT_GE(window.p90(kNow), milliseconds(170));
  EXPECT_LE(window.p10(kNow), milliseconds(40));
  settings.deadline_margin = DeadlineMargin::kYield;
  EXPECT_EQ(window.margin(true, false, kNow), nanoseconds(0)) << "newest first, a slot would only stay empty";
  EXPECT_EQ(window.margin(false, false, kNow), window.p90(kNow));
  EXPECT_EQ(window.margin(false, true, kNow), nanoseconds(0)) << "it is the last one";
}

TEST(HeadWindow, AnUrgentTaskIsWorthItsSlotWhileItHasAChance) {
  QueueSettings settings;
  HeadWindow window(settings);
  EXPECT_EQ(window.enough(kWall, kNow), kWall) << "nothing is known of service times";
  for (int i = 1; i <= 20; ++i) window.worked(milliseconds(100), kNow);
  EXPECT_EQ(window.enough(kWall, kNow), kWall + milliseconds(100));
  const WallTime created = kWall - milliseconds(1000);
  EXPECT_TRUE(window.is_worth_it(created, kWall + milliseconds(200), kWall, kNow));
  EXPECT_FALSE(window.is_worth_it(created, kWall + milliseconds(10), kWall, kNow)) << "no task was ever that quick";
}

}  // namespace
}  // namespace freshet
