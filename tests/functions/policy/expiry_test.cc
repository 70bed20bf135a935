// When a task is too late to be started.
#include "functions/queue/policy/expiry.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(Expiry, IsToldBySecondsAndDeadline) {
  auto by_ttl = task({{"ttl", Value::number(100)}});
  EXPECT_EQ(expired(by_ttl, wall(99'999), false), "");
  EXPECT_EQ(expired(by_ttl, wall(100'000), false), "ttl");
  auto by_deadline = task({{"deadline", Value::number(99'500)}, {"ttl", Value::number(100)}});
  EXPECT_EQ(expired(by_deadline, wall(99'499), false), "");
  EXPECT_EQ(expired(by_deadline, wall(99'500), false), "deadline");
  EXPECT_EQ(expired(task({}), wall(int64_t{1} << 50), false), "");
  EXPECT_EQ(expired(task({{"ttl", Value("soon")}, {"deadline", Value::number(0)}}), wall(5), false), "");
}

TEST(Expiry, AMarginIsKeptBeforeTheDeadline) {
  auto by_deadline = task({{"deadline", Value::number(99'500)}, {"ttl", Value::number(100)}});
  EXPECT_EQ(expired(by_deadline, wall(98'499), false, 1000_ms), "");
  EXPECT_EQ(expired(by_deadline, wall(98'500), false, 1000_ms), "deadline-margin");
  EXPECT_EQ(expired(by_deadline, wall(99'500), false, 1000_ms), "deadline");
  EXPECT_EQ(expired(task({{"ttl", Value::number(100)}}), wall(99'999), false, 1000_ms), "") << "a ttl has no margin";
}

// More nanoseconds than there are.
TEST(Expiry, ADeadlineThatIsCenturiesAheadIsNotNear) {
  constexpr int64_t kLastOf9999 = 253'402'300'799'999;
  for (const int64_t deadline : {kLastOf9999, kLastOf9999 / 10, int64_t{1} << 62}) {
    EXPECT_EQ(expired(task({{"deadline", Value::number(deadline)}}), wall(1'800'000'000'000), false, 1000_ms), "")
        << deadline;
  }
}

TEST(Expiry, MillisecondsInTtlNeverExpireUnlessTold) {
  auto sample = task({{"ttl", Value::number(1'700'000'000'000)}});
  EXPECT_EQ(expired(sample, wall(1'800'000'000'000), false), "");
  EXPECT_EQ(expired(sample, wall(1'800'000'000'000), true), "ttl");
  EXPECT_EQ(expired(sample, wall(1'600'000'000'000), true), "");
}

TEST(Expiry, MarginCountsFromTheMiddleOfTheMillisecond) {
  TaskEnds ends;
  ends.deadline = WallTime(milliseconds(1000));
  const nanoseconds margin = milliseconds(10);
  EXPECT_EQ(expired(ends, WallTime(milliseconds(989)), margin), "");
  EXPECT_EQ(expired(ends, WallTime(milliseconds(990)), margin), "deadline-margin");
  EXPECT_EQ(expired(ends, WallTime(milliseconds(999))), "");
  EXPECT_EQ(expired(ends, WallTime(milliseconds(1000))), "deadline");
}

}  // namespace
}  // namespace freshet
