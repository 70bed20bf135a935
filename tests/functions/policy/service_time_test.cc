// How long tasks take, as observed.
#include "functions/queue/policy/service_time.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(ServiceTimes, AreTheNinetiethOfAHundredOnceThereAreTen) {
  ServiceTimes times;
  BootTime now{};
  for (int i = 1; i <= 9; ++i) times.add(milliseconds(i), now);
  EXPECT_EQ(times.p90(now), 0_ms);
  times.add(milliseconds(10), now);
  EXPECT_EQ(times.p90(now), 9_ms);
  for (int i = 11; i <= 100; ++i) times.add(milliseconds(i), now);
  EXPECT_EQ(times.p90(now), 90_ms);
  times.add(nanoseconds(-5), now);
  EXPECT_EQ(times.p90(now), 90_ms);
}

// Once in n + 1 the next one takes longer than all n that were seen.
TEST(ServiceTimes, TheirRanksDoNotFlatterThemselves) {
  ServiceTimes times;
  BootTime now{};
  for (int i = 1; i <= 9; ++i) times.add(milliseconds(10 * i), now);
  EXPECT_EQ(times.chance_within(1_ms, now), 1) << "too little is known";
  for (int i = 10; i <= 99; ++i) times.add(milliseconds(10 * i), now);
  EXPECT_DOUBLE_EQ(times.chance_within(980_ms, now), 0.98);
  EXPECT_DOUBLE_EQ(times.chance_within(985_ms, now), 0.985);
  EXPECT_DOUBLE_EQ(times.chance_within(990_ms, now), 0.99);
  EXPECT_DOUBLE_EQ(times.chance_within(995_ms, now), 0.995);
  EXPECT_DOUBLE_EQ(times.chance_within(2000_ms, now), 1);
  EXPECT_DOUBLE_EQ(times.chance_within(5_ms, now), 0.005);
  EXPECT_DOUBLE_EQ(times.chance_within(-5_ms, now), 0);
  EXPECT_LT(times.chance_within(989_ms, now), 0.99);
  times.add(990_ms, now);
  EXPECT_DOUBLE_EQ(times.chance_within(990_ms, now), 1) << "the longest was there before, so there is none longer";
}

TEST(ServiceTimes, FollowWhatChangesAndForgetWhatIsOld) {
  ServiceTimes times;
  BootTime now{};
  for (size_t i = 0; i < ServiceTimes::kWindow; ++i) times.add(1000_ms, now);
  EXPECT_EQ(times.p90(now), 1000_ms);
  now += 30'000_ms;
  for (size_t i = 0; i < ServiceTimes::kWindow; ++i) times.add(nanoseconds(1'500'000), now);
  EXPECT_EQ(times.p90(now), nanoseconds(1'500'000));
  now += ServiceTimes::kKept;
  EXPECT_EQ(times.p90(now), nanoseconds(1'500'000));
  now += 1_ms;
  EXPECT_EQ(times.p90(now), 0_ms);
}

}  // namespace
}  // namespace freshet
