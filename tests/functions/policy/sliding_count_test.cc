// A limiter that counts over the last ten seconds is told from others by what it had accepted when it refused.
#include "functions/queue/policy/sliding_count.h"

#include <gtest/gtest.h>

#include <array>

namespace freshet {
namespace {

BootTime after_start(double seconds_from_start) {
  return BootTime(seconds(100)) + milliseconds(static_cast<int64_t>(1000 * seconds_from_start));
}

void add_evenly(SlidingCount& count, double from, double to, int units) {
  for (int i = 0; i < units; ++i) count.add(after_start(from + (to - from) * i / units), 1);
}

TEST(SlidingCount, CountsTheLastTenSeconds) {
  SlidingCount count;
  add_evenly(count, 0, 5, 100);
  EXPECT_NEAR(count.count(after_start(5)), 100, 0.01);
  EXPECT_NEAR(count.count(after_start(10)), 100, 4);
  EXPECT_NEAR(count.count(after_start(12.5)), 50, 4);
  EXPECT_NEAR(count.count(after_start(15.2)), 0, 0.01);
  EXPECT_NEAR(count.count(after_start(1000)), 0, 0.01);
  count.add(after_start(1000), 5);
  count.add(after_start(1000.1), -2);
  EXPECT_NEAR(count.count(after_start(1001)), 3, 0.01);
}

TEST(SlidingCount, TwoRefusalsAtTheSameCountAreBelieved) {
  SlidingCount count;
  add_evenly(count, 0, 3, 200);
  count.refused(after_start(3), true, 20);
  EXPECT_FALSE(count.known());
  count.refused(after_start(3.2), false, 20);
  EXPECT_FALSE(count.known());
  add_evenly(count, 10.2, 12, 133);
  count.refused(after_start(12), true, 40);
  ASSERT_TRUE(count.known());
  EXPECT_NEAR(count.limit(), 20, 0.3);
}

TEST(SlidingCount, AnotherCountEndsTheBelief) {
  SlidingCount count;
  add_evenly(count, 0, 9, 200);
  count.refused(after_start(9), true, 20);
  count.refused(after_start(9.6), true, 40);
  ASSERT_TRUE(count.known());
  add_evenly(count, 10, 10.5, 60);
  EXPECT_FALSE(count.known()) << "more was accepted";
  count.refused(after_start(11), true, 20);
  count.refused(after_start(14), true, 40);
  EXPECT_FALSE(count.known()) << "it refuses at another count";
}

// A window of another length, met at the same rate, refuses at the same count by chance.
TEST(SlidingCount, TheSameRateProvesNothing) {
  SlidingCount count;
  add_evenly(count, 0, 9, 200);
  count.refused(after_start(9), true, 20);
  count.refused(after_start(9.6), true, 20);
  EXPECT_FALSE(count.known());
}

// Parts before the machine's start are none: nothing beside the counts is read.
TEST(SlidingCount, CountsInTheFirstSecondsOfTheMachine) {
  struct {
    std::array<float, 64> before{};
    SlidingCount count;
    std::array<float, 64> after{};
  } memory;
  memory.before.fill(1e6F);
  memory.after.fill(1e6F);
  memory.count.add(BootTime(milliseconds(100)), 3);
  memory.count.add(BootTime(seconds(1)), 4);
  EXPECT_NEAR(memory.count.count(BootTime(seconds(1))), 7, 1e-6);
  EXPECT_NEAR(memory.count.count(BootTime(seconds(9))), 7, 1e-6);
}

TEST(SlidingCount, FewMayBeTheSameByChance) {
  SlidingCount count;
  add_evenly(count, 0, 9, 20);
  count.refused(after_start(9), true, 20);
  count.refused(after_start(9.6), true, 40);
  EXPECT_FALSE(count.known());
}

}  // namespace
}  // namespace freshet
