#include <gtest/gtest.h>

#include <set>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace freshet {
namespace {

TEST(Result, EveryErrorHasAStandardName) {
  EXPECT_EQ(error_name(ErrorCode::kConditionalCheckFailed), "ConditionalCheckFailedException");
  EXPECT_EQ(error_name(ErrorCode::kRequestLimitExceeded), "RequestLimitExceeded");
  EXPECT_EQ(error_name(ErrorCode::kInternal), "InternalServerError");
  std::set<std::string_view> names;
  const int last = static_cast<int>(ErrorCode::kUnsupportedFormat);
  for (int code = 0; code <= last; ++code) names.insert(error_name(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), static_cast<size_t>(last) + 1);
  EXPECT_EQ(names.count(""), 0u);
}

TEST(CheckDeathTest, SaysWhereAndWhy) {
  EXPECT_DEATH(FRESHET_CHECK(1 + 1 == 3, "sums hold"), "basics_test.cc:[0-9]+: .*sums hold.*1 \\+ 1 == 3");
}

TEST(Clock, SystemClocksAdvance) {
  const SystemClock clock;
  const BootTime before = clock.boot();
  EXPECT_GE(clock.boot(), before);
  EXPECT_GT(epoch_s(clock.wall()), 1'600'000'000);
}

TEST(Clock, TheSimulatedClockMovesOnlyWhenTold) {
  SimClock clock(WallTime(seconds(100)));
  const BootTime start = clock.boot();
  clock.advance(nanoseconds(1'999'999));
  EXPECT_EQ(epoch_ms(clock.wall()), 100'001);
  clock.advance(nanoseconds(1));
  EXPECT_EQ(epoch_ms(clock.wall()), 100'002);
  clock.step_wall(-seconds(10));
  clock.advance_to(start);  // In the past: nothing.
  EXPECT_EQ(clock.boot() - start, milliseconds(2));
  EXPECT_EQ(epoch_ms(clock.wall()), 90'002);
}

TEST(Random, IsTheSameOnEveryMachine) {
  Random random(42);
  EXPECT_EQ(random.next(), 0x15780b2e0c2ec716u);
  EXPECT_EQ(random.next(), 0x6104d9866d113a7eu);
}

TEST(Random, StaysWithinItsBounds) {
  Random random(7);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(random.below(3));
    const double unit = random.unit();
    EXPECT_TRUE(unit >= 0 && unit < 1) << unit;
  }
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2}));
  EXPECT_EQ(random.below(1), 0u);
}

TEST(Random, MakesVersionFourUuids) {
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    const std::string id = random.uuid();
    ASSERT_EQ(id.size(), 36u);
    EXPECT_EQ(id[8], '-');
    EXPECT_EQ(id[13], '-');
    EXPECT_EQ(id[14], '4') << id;
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
  }
  EXPECT_NE(random.uuid(), random.uuid());
}

}  // namespace
}  // namespace freshet
