// A rate limit as a token bucket.
#include "functions/queue/policy/token_bucket.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(TokenBucketTest, LetsOneStartAtOnceOrTwentyMillisecondsWorth) {
  TokenBucket bucket(10);
  BootTime now(seconds(100));
  EXPECT_EQ(bucket.available(now, 100), 1u);
  bucket.use(1);
  EXPECT_EQ(bucket.available(now, 1), 0u);
  EXPECT_NEAR(std::chrono::duration<double>(bucket.next(now) - now).count(), 0.1, 0.001);
  EXPECT_EQ(bucket.available(bucket.next(now), 5), 1u);
  EXPECT_EQ(bucket.available(now + seconds(60), 5), 1u) << "what was not used is not kept";
  EXPECT_EQ(TokenBucket(1000).available(now, 100), 20u);
  EXPECT_EQ(TokenBucket(0).available(now, 7), 7u);
}

TEST(TokenBucketTest, ADebtIsPaidFirst) {
  TokenBucket bucket(10);
  BootTime now(seconds(100));
  EXPECT_EQ(bucket.available(now, 1), 1u);
  bucket.use(5.5);
  EXPECT_EQ(bucket.tokens(now), -4.5);
  EXPECT_EQ(bucket.available(now + milliseconds(500), 3), 0u);
  EXPECT_EQ(bucket.available(now + milliseconds(551), 3), 1u);
}

TEST(TokenBucketTest, SavesNoBurstWhileNothingMayStart) {
  TokenBucket bucket(10, 30);
  BootTime now(seconds(100));
  bucket.available(now, 1);
  bucket.use(30);
  for (int i = 0; i < 100; ++i) bucket.rest(now += milliseconds(100));
  size_t started = 0;
  for (int i = 0; i < 1000; ++i, now += milliseconds(1)) {
    const size_t allowed = bucket.available(now, 100);
    bucket.use(static_cast<double>(allowed));
    started += allowed;
  }
  EXPECT_LE(started, 11u) << "in the first second after it";
  EXPECT_GE(started, 10u);
}

TEST(TokenBucketTest, LetsSoManyStartAtOnce) {
  TokenBucket bucket(10, 2);
  BootTime now(seconds(100));
  EXPECT_EQ(bucket.available(now, 100), 2u);
  bucket.use(2);
  EXPECT_EQ(bucket.available(now + seconds(5), 100), 2u) << "what was not used is not kept";
  bucket.set(10, 30);
  EXPECT_EQ(bucket.available(now + seconds(7), 100), 22u);
}

}  // namespace
}  // namespace freshet
