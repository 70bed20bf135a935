// The delays between attempts.
#include "functions/queue/policy/backoff.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(Backoff, GrowsToItsCap) {
  BackoffSettings settings{100_ms, 1000_ms, 2, 0};
  EXPECT_EQ(backoff_delay(settings, 1, 0.5), 100_ms);
  EXPECT_EQ(backoff_delay(settings, 2, 0.5), 200_ms);
  EXPECT_EQ(backoff_delay(settings, 4, 0.5), 800_ms);
  EXPECT_EQ(backoff_delay(settings, 5, 0.5), 1000_ms);
  EXPECT_EQ(backoff_delay(settings, 1'000'000, 0.5), 1000_ms);
  EXPECT_EQ(backoff_delay(settings, 0, 0.5), 100_ms);
}

TEST(Backoff, JitterTakesAwayAShare) {
  BackoffSettings settings{100_ms, 1000_ms, 2, 0.5};
  EXPECT_EQ(backoff_delay(settings, 1, 0), 100_ms);
  EXPECT_EQ(backoff_delay(settings, 1, 0.999), 50_ms);
  EXPECT_EQ(backoff_delay(settings, 5, 0.5), 750_ms);
  EXPECT_EQ(backoff_delay({0_ms, 1000_ms, 2, 0.5}, 3, 0.2), 0_ms);
}

}  // namespace
}  // namespace freshet
