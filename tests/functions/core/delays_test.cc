// Delays as a part by itself: no store, no loop.
#include "functions/queue/core/delays.h"

#include <gtest/gtest.h>

#include "functions/queue/attributes.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kBoot;
using fixed::kRetry;
using fixed::kWall;

ItemRef delayed(const std::string& id, int64_t not_before_ms, std::string_view status = state::kDelayed) {
  Item item;
  item.set(attribute::kId, Value(id));
  item.set(attribute::kStatus, Value(status));
  item.set(attribute::kNotBefore, Value::number(not_before_ms));
  return ItemRef::encode(item);
}

// A queue that has looked and knows of no delay.
void settle(Delays& delays) {
  delays.follow_clock(kWall, kBoot);
  const auto look = delays.begin_look(kWall);
  EXPECT_FALSE(delays.end_look(look, 0, 0, false, kWall, kRetry));
}

TEST(Delays, TheTimerGoesByTheEarliestDelay) {
  Delays delays;
  EXPECT_TRUE(delays.may_be_due(kWall)) << "nothing is known at the start";
  settle(delays);
  EXPECT_FALSE(delays.may_be_due(kWall));
  EXPECT_EQ(delays.next_look(kWall, kBoot), BootTime::max());
  EXPECT_TRUE(delays.delayed("a", 1'005'000, kWall, kBoot));
  EXPECT_FALSE(delays.delayed("b", 1'009'000, kWall, kBoot)) << "it comes later";
  EXPECT_TRUE(delays.delayed("c", 1'002'000, kWall, kBoot));
  EXPECT_EQ(delays.next_look(kWall, kBoot), kBoot + milliseconds(2000));
  EXPECT_FALSE(delays.may_be_due(kWall + milliseconds(1999)));
  EXPECT_TRUE(delays.may_be_due(kWall + milliseconds(2000)));
}

TEST(Delays, ALookSortsWhatIsDueAndRemembersTheNext) {
  Delays delays;
  settle(delays);
  auto look = delays.begin_look(kWall);
  std::vector<ItemRef> page{delayed("a", 999'000), delayed("b", 1'000'000), delayed("c", 1'007'000)};
  EXPECT_FALSE(delays.sort(page, true, look));
  ASSERT_EQ(look.due.size(), 2u);
  EXPECT_FALSE(delays.end_look(look, 2, 2, true, kWall, kRetry)) << "the rest is not due";
  EXPECT_EQ(delays.next_look(kWall, kBoot), kBoot + milliseconds(7000));
}

TEST(Delays, AWholePageThatIsDueIsFollowedByTheNextPage) {
  Delays delays;
  settle(delays);
  auto look = delays.begin_look(kWall);
  std::vector<ItemRef> page{delayed("a", 1'000'000)};
  EXPECT_FALSE(delays.sort(page, true, look));
  EXPECT_TRUE(delays.end_look(look, 1, 1, true, kWall, kRetry));
  EXPECT_TRUE(delays.may_be_due(kWall));
}

TEST(Delays, WhereNothingCouldBeWrittenTheNextTryComesLater) {
  Delays delays;
  settle(delays);
  auto look = delays.begin_look(kWall);
  std::vector<ItemRef> page{delayed("a", 1'000'000)};
  EXPECT_FALSE(delays.sort(page, false, look));
  EXPECT_FALSE(delays.end_look(look, 1, 0, false, kWall, kRetry));
  EXPECT_EQ(delays.next_look(kWall, kBoot), kBoot + kRetry);
}

TEST(Delays, ATaskThatIsDelayedDuringALookIsNotForgotten) {
  Delays delays;
  settle(delays);
  auto look = delays.begin_look(kWall);
  EXPECT_TRUE(delays.delayed("a", 1'003'000, kWall, kBoot));
  EXPECT_FALSE(delays.end_look(look, 0, 0, false, kWall, kRetry));
  EXPECT_EQ(delays.next_look(kWall, kBoot), kBoot + milliseconds(3000));
}

TEST(Delays, ADelayLastsAsLongThoughTheClockIsSet) {
  Delays delays;
  settle(delays);
  EXPECT_TRUE(delays.delayed("a", 1'060'000, kWall, kBoot));
  const auto later = kWall + milliseconds(3'600'000);  // Somebody sets the clock an hour ahead.
  const auto ahead = delays.follow_clock(later, kBoot);
  ASSERT_TRUE(ahead);
  EXPECT_FALSE(delays.follow_clock(later, kBoot)) << "once";
  EXPECT_FALSE(delays.may_be_due(later)) << "not before all are noted";
  EXPECT_TRUE(delays.note({delayed("a", 1'060'000)}, *ahead, kBoot));
  delays.noted();
  EXPECT_TRUE(delays.times("a", 1'060'000));
  EXPECT_EQ(delays.due_of("a"), kBoot + milliseconds(60'000));
  auto look = delays.begin_look(later);
  std::vector<ItemRef> page{delayed("a", 1'060'000)};
  EXPECT_TRUE(delays.sort(page, true, look)) << "all of the page are timed by boot time: the next one must be read";
  EXPECT_TRUE(look.due.empty());
  EXPECT_TRUE(delays.noted_due(kBoot + milliseconds(59'999), 10, kRetry).empty());
  const auto due = kBoot + milliseconds(60'000);
  EXPECT_EQ(delays.noted_due(due, 10, kRetry), std::vector<std::string>{"a"});
  EXPECT_TRUE(delays.noted_due(due, 10, kRetry).empty()) << "its write is under way";
  EXPECT_EQ(delays.noted_due(due + kRetry, 10, kRetry).size(), 1u) << "it has not ended";
  EXPECT_TRUE(delays.still_noted("a", delayed("a", 1'060'000)));
  EXPECT_FALSE(delays.still_noted("a", delayed("a", 1'060'000, state::kPending))) << "a client has moved it";
  EXPECT_FALSE(delays.times("a", 1'060'000));
}

TEST(Delays, ADelayThatWasReckonedBeforeAStepIsTimedByBootTime) {
  Delays delays;
  settle(delays);
  const auto due = kBoot + milliseconds(60'000);
  // Set an hour ahead while the store answered, and noted since.
  ASSERT_TRUE(delays.follow_clock(kWall + milliseconds(3'600'000), kBoot));
  delays.noted();
  EXPECT_TRUE(delays.delayed("a", 1'060'000, kWall, kBoot)) << "the timer goes by the wall clock otherwise";
  EXPECT_EQ(delays.due_of("a"), due);
  const auto set = kWall + milliseconds(3'600'000);
  EXPECT_FALSE(delays.delayed("b", 1'060'000 + 3'600'000, set, kBoot)) << "it was written after the step";
  EXPECT_EQ(delays.due_of("b"), BootTime::max());
}

// A delay goes by the wall clock, however late the store answers and however long ago a step was.
TEST(Delays, ALateAnswerIsNoStep) {
  for (const bool stepped : {false, true}) {
    Delays delays;
    settle(delays);
    const milliseconds step(stepped ? 3'600'000 : 0);
    if (stepped) {
      ASSERT_TRUE(delays.follow_clock(kWall + step, kBoot));
      delays.noted();
    }
    const milliseconds wrote(100'000);
    const auto answered = kBoot + wrote + milliseconds(30'000);
    EXPECT_FALSE(delays.follow_clock(kWall + step + wrote + milliseconds(30'000), answered));
    const auto written = kWall + step + wrote;
    const int64_t at = (written + milliseconds(40'000)).time_since_epoch().count();
    EXPECT_EQ(delays.delayed("a", at, written, answered), !stepped) << "a step makes the timer look at once anyway";
    EXPECT_EQ(delays.due_of("a"), BootTime::max()) << "the wall clock times it";
  }
}

}  // namespace
}  // namespace freshet
