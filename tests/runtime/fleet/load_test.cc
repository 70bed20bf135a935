#include "runtime/fleet/load.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(LoadMeter, ShowsTheShareOfTheLastSeconds) {
  LoadMeter meter;
  BootTime now(std::chrono::hours(100));
  nanoseconds busy(seconds(5));
  EXPECT_EQ(meter.next(busy, now), 0) << "hours have passed since the machine started";
  const auto pass = [&](nanoseconds time, double share) {
    int load = 0;
    for (nanoseconds passed{0}; passed < time; passed += milliseconds(500)) {
      now += milliseconds(500);
      busy += nanoseconds(static_cast<int64_t>(5e8 * share));
      load = meter.next(busy, now);
    }
    return load;
  };
  EXPECT_EQ(pass(seconds(60), 0.4), 40);
  EXPECT_EQ(pass(seconds(10), 0.9), 72) << "40 and 90, of which 1/e and the rest";
  EXPECT_EQ(pass(seconds(100), 0), 0);
  EXPECT_EQ(meter.next(busy, now), 0) << "no time has passed";
  EXPECT_EQ(pass(seconds(60), 3), 100) << "a turn may have begun long before";
}

TEST(LoadMeter, WantedDaemonsHaveRoomForBursts) {
  EXPECT_EQ(daemons_wanted({}, 5), 1u);
  EXPECT_EQ(daemons_wanted({0, 0, 0}, 5), 1u);
  EXPECT_EQ(daemons_wanted({70}, 5), 1u);
  EXPECT_EQ(daemons_wanted({71}, 5), 2u);
  EXPECT_EQ(daemons_wanted({60, 60, 60}, 5), 3u);
  EXPECT_EQ(daemons_wanted({100, 100, 100}, 5), 5u);
  EXPECT_EQ(daemons_wanted({100, 100, 100}, 2), 2u) << "a unit has one daemon";
  EXPECT_EQ(daemons_wanted({100}, 0), 1u);
}

}  // namespace
}  // namespace freshet
