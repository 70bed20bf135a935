// The learner goes on from what an earlier life has learnt.
#include <gtest/gtest.h>

#include "functions/queue/policy/adaptive_rate.h"
#include "tests/functions/policy/limiters.h"

namespace freshet {
namespace {

double seconds_at(BootTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

TEST(AdaptiveRate, GoesOnALittleBelowWhatWasLearntBefore) {
  BucketLimiter bucket(0.5);
  AdaptiveRate rate(0.1, 1000);
  rate.go_on(20, 0, 0, BootTime(seconds(100)));
  EXPECT_DOUBLE_EQ(rate.rate(), 20);
  BootTime now(seconds(100));
  double taken = 0, refused = 0;
  while (now < BootTime(seconds(105))) {
    if (rate.allowed(now, 1) > 0) {
      const auto start = rate.started(now);
      LimitHints hints;
      const bool takes = bucket.take(seconds_at(now), 20, hints);
      takes ? rate.accepted(start, now) : rate.refused(start, now);
      (takes ? taken : refused) += 1;
    }
    now = std::max(rate.next(now), now + milliseconds(1));
  }
  EXPECT_GE(taken, 0.965 * 100);
  EXPECT_LE(taken, 100);
  EXPECT_EQ(refused, 0);
  AdaptiveRate capped(0.1, 1000);
  capped.go_on(50, 8, 0, now);
  EXPECT_EQ(capped.concurrency(), 8u);
}

// It was 20 a second and fell to 10 before the restart: that it rises again is likely, and is found soon.
TEST(AdaptiveRate, ALimitThatRisesAgainIsFoundSoonAfterARestart) {
  double taken = 0;
  for (int rises = 3; rises < 11; ++rises) {
    AdaptiveRate rate(0.1, 1000);
    BucketLimiter bucket(0.2);
    LimitHints hints;
    rate.go_on(10, 0, 20, BootTime(seconds(100)));
    for (BootTime now(seconds(100)); now < BootTime(seconds(100 + rises + 10));
         now = std::max(rate.next(now), now + milliseconds(1))) {
      if (rate.allowed(now, 1) == 0) continue;
      const bool risen = now >= BootTime(seconds(100 + rises));
      const auto start = rate.started(now);
      const bool takes = bucket.take(seconds_at(now), risen ? 40 : 10, hints);
      takes ? rate.accepted(start, now) : rate.refused(start, now);
      if (takes && risen) taken += 1;
    }
  }
  EXPECT_GE(taken / 8, 0.75 * 400) << "of 400 in the ten seconds";
}

}  // namespace
}  // namespace freshet
