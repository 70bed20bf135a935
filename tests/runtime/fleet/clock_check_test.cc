#include "runtime/fleet/clock_check.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

using Verdict = ClockCheck::Verdict;

WallTime wall(int64_t ms) {
  return WallTime(milliseconds(1'800'000'000'000 + ms));
}

// A member that reads three times a second, and a leader that writes once a second. Each call takes 20 ms. The leader's
// clock is ahead by `ahead` ms.
class Joining {
 public:
  explicit Joining(int64_t ahead) : ahead_(ahead) {}

  // Reads until a time on this member's clock.
  void until(int64_t end, int64_t written_late = 0) {
    for (; now_ < end; now_ += 333) {
      MemberBeat leader;
      leader.id = leader.life = "leader";
      const int64_t made = (now_ - 20 - written_late) / 1000 * 1000;
      leader.beat = static_cast<uint64_t>(10 + made / 1000);
      leader.wall = wall(made + ahead_);
      leader.lease = seconds(3);
      check.saw(leader, wall(now_), wall(now_ + 20));
    }
  }
  void leader_sets_clock(int64_t ahead) { ahead_ = ahead; }

  ClockCheck check;

 private:
  int64_t ahead_;
  int64_t now_ = 5'100;
};

TEST(ClockCheck, TheLeadersOwnClockCounts) {
  ClockCheck check;
  EXPECT_EQ(check.verdict(), Verdict::kUnknown);
  check.leads();
  EXPECT_EQ(check.verdict(), Verdict::kAgrees);
}

TEST(ClockCheck, WithRareHeartbeatsTheFirstReadDoesNotSuffice) {
  ClockCheck check;
  MemberBeat leader;
  leader.lease = seconds(60);
  leader.wall = wall(500);
  check.saw(leader, wall(1'000), wall(1'020));
  EXPECT_EQ(check.verdict(), Verdict::kUnknown) << "the heartbeat may be 20 s old, and the clock 20 s behind";
  leader.beat = 1;
  leader.wall = wall(1'100);
  check.saw(leader, wall(1'250), wall(1'270));
  EXPECT_EQ(check.verdict(), Verdict::kAgrees);
}

TEST(ClockCheck, ALeaderOfAVersionWithoutTimesIsNotCompared) {
  ClockCheck check;
  MemberBeat leader;
  check.saw(leader, wall(0), wall(1));
  EXPECT_EQ(check.verdict(), Verdict::kAgrees);
}

TEST(ClockCheck, ClocksThatDifferByLittleAgree) {
  for (const int64_t ahead : {-600, -100, 0, 100, 900}) {
    Joining joining(ahead);
    joining.until(5'900);
    EXPECT_EQ(joining.check.verdict(), ahead == 900 ? Verdict::kUnknown : Verdict::kAgrees) << ahead;
    joining.until(6'400);
    EXPECT_EQ(joining.check.verdict(), Verdict::kAgrees) << ahead;
  }
}

TEST(ClockCheck, AClockThatIsBehindIsFoundAtTheFirstRead) {
  Joining joining(3'000);
  joining.until(5'200);
  ASSERT_EQ(joining.check.verdict(), Verdict::kDiffers);
  EXPECT_GT(joining.check.off(), milliseconds(-3'000));
  EXPECT_LT(joining.check.off(), milliseconds(-1'500));
}

TEST(ClockCheck, AClockThatIsAheadIsFoundAfterThreeHeartbeats) {
  Joining joining(-3'600'000);
  joining.until(7'900);
  EXPECT_EQ(joining.check.verdict(), Verdict::kUnknown);
  joining.until(8'500);
  ASSERT_EQ(joining.check.verdict(), Verdict::kDiffers);
  EXPECT_GT(joining.check.off(), milliseconds(3'598'000));
  EXPECT_LE(joining.check.off(), milliseconds(3'600'000));
}

TEST(ClockCheck, AHeartbeatThatWasLongOnItsWayDoesNotCondemn) {
  Joining joining(0);
  joining.until(6'000, 2'500);
  joining.until(7'000);
  EXPECT_EQ(joining.check.verdict(), Verdict::kAgrees);
}

TEST(ClockCheck, AClockThatIsSetRightAgrees) {
  Joining joining(10'000);
  joining.until(5'200);
  ASSERT_EQ(joining.check.verdict(), Verdict::kDiffers);
  joining.leader_sets_clock(0);
  joining.until(6'400);
  EXPECT_EQ(joining.check.verdict(), Verdict::kAgrees);
  joining.leader_sets_clock(10'000);
  joining.until(9'400);
  EXPECT_EQ(joining.check.verdict(), Verdict::kAgrees) << "only a member that joins is refused";
}

}  // namespace
}  // namespace freshet
