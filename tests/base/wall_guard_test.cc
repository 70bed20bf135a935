#include "base/wall_guard.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet {
namespace {

constexpr WallTime kLast{milliseconds(1'700'000'000'000)};
constexpr milliseconds kGuardedDay{24 * 3600 * 1000};

struct WallGuardTest : testing::Test {
  SimClock clock{kLast};
  SimClockSync sync;
  std::vector<WallDoubt> told;
  WallGuard guard{clock, {milliseconds(60'000), milliseconds(60'000), &sync, [this](const WallDoubt& doubt) {
                            told.push_back(doubt);
                          }}};
};

TEST_F(WallGuardTest, AJumpIsNotBelievedUntilItHasLastedAndTimeGoesOnMeanwhile) {
  clock.advance(seconds(10));
  clock.step_wall(milliseconds(50'000));
  EXPECT_TRUE(guard.trusted()) << "50 s are no jump";
  sync.set(true);
  clock.step_wall(kGuardedDay);
  EXPECT_FALSE(guard.trusted()) << "the kernel said that the clock was synchronised before the jump, too";
  clock.advance(seconds(20));
  EXPECT_EQ(guard.reckoned(), kLast + milliseconds(80'000));
  EXPECT_EQ(guard.earliest(), guard.reckoned());
  clock.advance(milliseconds(39'999));
  EXPECT_FALSE(guard.trusted());
  EXPECT_EQ(guard.next_look(), clock.boot() + milliseconds(1));
  clock.advance(milliseconds(1));
  EXPECT_TRUE(guard.trusted());
  EXPECT_EQ(guard.reckoned(), clock.wall());
  EXPECT_EQ(guard.next_look(), BootTime::max());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_FALSE(told[0].over || told[0].at_start);
  EXPECT_EQ(told[0].ahead, kGuardedDay);
  EXPECT_TRUE(told[1].over);
}

TEST_F(WallGuardTest, AJumpThatIsTakenBackIsForgotten) {
  clock.step_wall(kGuardedDay);
  EXPECT_FALSE(guard.trusted());
  clock.advance(seconds(3));
  clock.step_wall(-kGuardedDay);
  EXPECT_TRUE(guard.trusted());
  EXPECT_EQ(guard.reckoned(), clock.wall());
  clock.step_wall(-kGuardedDay);
  EXPECT_FALSE(guard.trusted());
  EXPECT_EQ(guard.reckoned(), kLast + seconds(3));
  EXPECT_EQ(guard.earliest(), clock.wall()) << "nothing has expired by a time that may not have come";
}

TEST_F(WallGuardTest, AClockThatIsSetTwiceEndsNothingThatTheFirstOneBegan) {
  clock.step_wall(-kGuardedDay);
  EXPECT_FALSE(guard.trusted());
  const WallTime deadline = clock.wall() + milliseconds(8'000);  // Something that is made now ends then.
  clock.advance(seconds(2));
  clock.step_wall(milliseconds(800'000));
  EXPECT_FALSE(guard.trusted());
  EXPECT_LT(guard.earliest(), deadline) << "only two seconds have passed";
  clock.advance(seconds(7));
  EXPECT_GE(guard.earliest(), deadline);
  clock.advance(seconds(60));
  EXPECT_TRUE(guard.trusted());
  EXPECT_EQ(guard.earliest(), clock.wall());
}

TEST_F(WallGuardTest, TheLatestTimeIsTheOneBeforeAStepBackAndTheOneAfterAStepAhead) {
  EXPECT_EQ(guard.latest(), clock.wall());
  clock.step_wall(-kGuardedDay);
  clock.advance(seconds(2));
  EXPECT_EQ(guard.latest(), kLast + seconds(2));
  clock.step_wall(2 * kGuardedDay);
  EXPECT_EQ(guard.latest(), clock.wall());
  clock.step_wall(-kGuardedDay);
  EXPECT_EQ(guard.latest(), kLast + seconds(2)) << "it is back in line";
  EXPECT_TRUE(guard.trusted());
}

TEST_F(WallGuardTest, AStartFarBehindTheLastWriteWaitsForTheKernelsWord) {
  clock.step_wall(kGuardedDay);
  guard.start_after(kLast);
  EXPECT_TRUE(guard.doubts());
  EXPECT_FALSE(guard.trusted());
  clock.advance(seconds(5));
  EXPECT_EQ(guard.reckoned(), kLast + seconds(5));
  sync.set(true);
  EXPECT_TRUE(guard.trusted());
  EXPECT_EQ(guard.earliest(), clock.wall());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_TRUE(told[0].at_start && told[1].at_start && told[1].over);
  EXPECT_EQ(told[0].ahead, kGuardedDay);
}

TEST_F(WallGuardTest, OrUntilItHasGoneOnEvenly) {
  clock.step_wall(kGuardedDay);
  guard.start_after(kLast);
  clock.advance(seconds(30));
  clock.step_wall(-kGuardedDay / 2);  // It is corrected, and a night has passed all the same.
  EXPECT_FALSE(guard.trusted());
  clock.advance(seconds(59));
  EXPECT_FALSE(guard.trusted());
  clock.advance(seconds(1));
  EXPECT_TRUE(guard.trusted());
}

TEST_F(WallGuardTest, AStartSoonAfterTheLastWriteOrBeforeItIsBelieved) {
  clock.step_wall(seconds(60));
  guard.start_after(kLast);
  EXPECT_TRUE(guard.trusted());
  guard.start_after(kLast + kGuardedDay);
  EXPECT_TRUE(guard.trusted());
  sync.set(true);
  clock.step_wall(seconds(1));
  guard.start_after(kLast);
  EXPECT_TRUE(guard.trusted()) << "the kernel says so";
  EXPECT_TRUE(told.empty());
}

TEST_F(WallGuardTest, ALogOfAnyTimeIsBorne) {
  guard.start_after(WallTime::min());
  EXPECT_FALSE(guard.trusted());
  clock.advance(seconds(60));
  EXPECT_TRUE(guard.trusted());
  guard.start_after(WallTime::max());
  EXPECT_TRUE(guard.trusted());
}

}  // namespace
}  // namespace freshet
