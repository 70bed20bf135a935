// When a downstream that refuses is asked again.
#include "functions/queue/policy/breaker.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(Breaker, OpensAtARefusalAndLetsOneTryAgainAfterAPause) {
  Breaker breaker;
  EXPECT_EQ(breaker.allowed(boot_at(0), 10), 10u);
  breaker.refused(std::nullopt, boot_at(0));
  EXPECT_EQ(breaker.allowed(boot_at(499), 10), 0u);
  EXPECT_EQ(breaker.next(boot_at(10)), boot_at(500));
  EXPECT_EQ(breaker.allowed(boot_at(500), 10), 1u);
  breaker.started(1, boot_at(500));
  EXPECT_EQ(breaker.allowed(boot_at(501), 10), 0u);
  EXPECT_EQ(breaker.allowed(boot_at(1000), 10), 1u);
  breaker.accepted(boot_at(1001));
  EXPECT_EQ(breaker.allowed(boot_at(1001), 10), 10u);
}

TEST(Breaker, HeedsTheTimeThatTheDownstreamAskedFor) {
  Breaker breaker;
  breaker.refused(seconds(30), boot_at(0));
  breaker.accepted(boot_at(10));  // A call that was in progress ends.
  EXPECT_TRUE(breaker.open());
  EXPECT_EQ(breaker.next(boot_at(10)), boot_at(30'000));
  EXPECT_EQ(breaker.allowed(boot_at(29'999), 4), 0u);
  EXPECT_EQ(breaker.allowed(boot_at(30'000), 4), 1u);
  breaker.started(1, boot_at(30'000));
  breaker.accepted(boot_at(30'100));
  EXPECT_EQ(breaker.allowed(boot_at(30'100), 4), 4u);
  breaker.refused(std::chrono::hours(24), boot_at(40'000));
  EXPECT_EQ(breaker.next(boot_at(40'000)), boot_at(40'000) + Breaker::kLongest);
}

}  // namespace
}  // namespace freshet
