// ORDER=deadline: which tasks have enough time, and which are worth a slot.
#include "functions/queue/policy/urgency.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace freshet {
namespace {

TEST(Urgency, EnoughIsWhatMostTasksTakeAndNothingWhileThatIsNotKnown) {
  const WallTime wall(milliseconds(1000));
  const BootTime now{};
  ServiceTimes times;
  Urgency urgency;
  EXPECT_EQ(urgency.enough(times, wall, now), wall);
  for (int i = 1; i <= 100; ++i) times.add(milliseconds(i), now);
  EXPECT_EQ(urgency.enough(times, wall, now), wall + milliseconds(80)) << "the p80";
  EXPECT_EQ(urgency.enough(times, wall + nanoseconds(1), now), wall + milliseconds(81)) << "deadlines are whole ones";
}

TEST(Urgency, TheWallIsKnownFinerAsSoonAsAMillisecondHasBeenSeenToBegin) {
  using std::chrono::microseconds;
  const WallTime wall(milliseconds(1'800'000'000'000));
  FineWall fine;
  // 0.7 ms of it have gone when it is seen first.
  EXPECT_EQ(fine.at(wall, BootTime(microseconds(700))), wall);
  EXPECT_EQ(fine.at(wall, BootTime(microseconds(900))), wall + microseconds(200));
  EXPECT_EQ(fine.at(wall + milliseconds(1), BootTime(microseconds(1000))), wall + milliseconds(1));
  EXPECT_EQ(fine.at(wall + milliseconds(5), BootTime(microseconds(5900))), wall + microseconds(5900));
  EXPECT_EQ(fine.at(wall + milliseconds(9), BootTime(microseconds(9100))), wall + microseconds(9100));
}

TEST(Urgency, TheFinerWallStaysWithinItsMillisecondWhoeverSetsIt) {
  const WallTime wall(milliseconds(1'800'000'000'000));
  FineWall fine;
  const auto at = [&](milliseconds set) { return fine.at(wall + set, BootTime(milliseconds(10))) - wall; };
  EXPECT_EQ(at(milliseconds(0)), milliseconds(0));
  EXPECT_EQ(at(seconds(3600)), seconds(3600)) << "ahead";
  EXPECT_EQ(at(milliseconds(-1)), milliseconds(-1)) << "back";
  EXPECT_EQ(at(-seconds(3600)), -seconds(3600));
}

TEST(Urgency, RisesWhileWaitingCostsChancesAndFallsWhileItDoesNot) {
  const BootTime now{};
  ServiceTimes times;
  for (int i = 1; i <= 100; ++i) times.add(milliseconds(i), now);
  Urgency urgency;
  const TimeLeft waited{milliseconds(200), milliseconds(85)};
  for (int i = 0; i < 10; ++i) urgency.started(waited, times, now);
  EXPECT_EQ(urgency.quantile(), 1);
  const TimeLeft fresh{milliseconds(50), milliseconds(50)};
  for (int i = 0; i < 1000; ++i) urgency.started(fresh, times, now);
  EXPECT_EQ(urgency.quantile(), Urgency::kLeast) << "what was short from the start costs nothing by waiting";
}

TEST(Urgency, ATaskIsWorthASlotUntilTwoFifthsOfItsChanceAreGone) {
  const BootTime now{};
  ServiceTimes times;
  const Urgency urgency;
  EXPECT_TRUE(urgency.is_worth_it({seconds(1), milliseconds(1)}, times, now)) << "nothing is known";
  for (int i = 1; i <= 100; ++i) times.add(milliseconds(i), now);
  EXPECT_TRUE(urgency.is_worth_it({milliseconds(200), milliseconds(60)}, times, now));
  EXPECT_FALSE(urgency.is_worth_it({milliseconds(200), milliseconds(59)}, times, now));
  EXPECT_TRUE(urgency.is_worth_it({milliseconds(20), milliseconds(13)}, times, now));
  EXPECT_TRUE(urgency.is_worth_it({nanoseconds(100), nanoseconds(50)}, times, now)) << "it never had one";
}

// Where even the largest quantile does not keep the cost of waiting within its limit.
TEST(Urgency, LeavesTasksSoonerWhileWaitingCostsTooMuchWhateverIsEnough) {
  const BootTime now{};
  ServiceTimes times;
  for (int i = 1; i <= 100; ++i) times.add(milliseconds(i), now);
  Urgency urgency;
  const TimeLeft waited{milliseconds(200), milliseconds(94)};
  const TimeLeft fresh{milliseconds(200), milliseconds(200)};
  for (int i = 0; i < 8; ++i) urgency.started(waited, times, now);
  EXPECT_LT(urgency.quantile(), 1);
  EXPECT_EQ(urgency.chance_kept(), Urgency::kChanceKept);
  for (int i = 0; i < 100; ++i) urgency.started(waited, times, now);
  EXPECT_EQ(urgency.quantile(), 1);
  EXPECT_NEAR(urgency.chance_kept(), 0.95, 1e-9);
  EXPECT_FALSE(urgency.is_worth_it(waited, times, now));
  EXPECT_TRUE(urgency.is_worth_it(fresh, times, now)) << "or it would never learn anything";
  for (int i = 0; i < 300; ++i) urgency.started(fresh, times, now);
  EXPECT_NEAR(urgency.chance_kept(), Urgency::kChanceKept, 1e-9);
  EXPECT_TRUE(urgency.is_worth_it(waited, times, now));
}

// As of a queue that stands: whatever is due next has just enough. What comes to be late then is a task in a hundred.
TEST(Urgency, ComesToATaskInAHundredThatIsLateForItsWaiting) {
  for (const double at_first_ms : {300.0, 1000.0}) {
    Random random(5);
    ServiceTimes times;
    Urgency urgency;
    BootTime now{};
    const WallTime wall(milliseconds(1'800'000'000'000));
    const auto service = [&] { return nanoseconds(static_cast<int64_t>(-1e8 * std::log(1 - random.unit()))); };
    for (size_t i = 0; i < ServiceTimes::kWindow; ++i) times.add(service(), now);
    constexpr int kTasks = 50'000;
    int late = 0;
    for (int i = 0; i < kTasks; ++i) {
      const nanoseconds at_first = nanoseconds(static_cast<int64_t>(1e6 * at_first_ms));
      const TimeLeft left{at_first, std::min<nanoseconds>(at_first, urgency.enough(times, wall, now) - wall)};
      urgency.started(left, times, now);
      const nanoseconds took = service();
      late += took > left.now;
      times.add(took, now);
    }
    const double share = static_cast<double>(late) / kTasks - std::exp(-at_first_ms / 100);
    EXPECT_NEAR(share, Urgency::kMostCost, 0.0025) << at_first_ms;
  }
}

TEST(Urgency, TimesThatAreAbsurdAreLongOrNone) {
  const WallTime now(milliseconds(1'800'000'000'000));
  const auto far = time_left(now, WallTime::max(), now);
  EXPECT_GT(far.now, std::chrono::hours(24 * 365));
  EXPECT_EQ(far.at_first, far.now - milliseconds(1));
  const auto old = time_left(WallTime(), now + milliseconds(7), now + std::chrono::microseconds(300));
  EXPECT_EQ(old.now, std::chrono::microseconds(6700));
  EXPECT_GT(old.at_first, std::chrono::hours(24 * 365));
  EXPECT_LT(time_left(now, WallTime(), now).now.count(), 0);
  const auto fresh = time_left(now, now + milliseconds(3), now + std::chrono::microseconds(200));
  EXPECT_EQ(fresh.at_first, milliseconds(2)) << "it was created at the end of its millisecond";
}

}  // namespace
}  // namespace freshet
