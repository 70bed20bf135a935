// The models of limiters, and what their downstream says of them.
#include <gtest/gtest.h>

#include "app/lab/limited.h"
#include "app/lab/limiter.h"

namespace freshet::lab {
namespace {

LimiterSpec spec(LimiterKind kind, LimitPlan plan) {
  LimiterSpec out;
  out.kind = kind;
  out.plan = std::move(plan);
  out.mean_service = milliseconds(200);
  return out;
}

// How many calls are granted that come every `step` in [from, to).
int granted(Limiter& limiter, nanoseconds from, nanoseconds to, nanoseconds step) {
  int out = 0;
  for (auto now = from; now < to; now += step) out += limiter.ask(now).granted;
  return out;
}

TEST(Limiter, ATokenBucketGrantsItsBurstAndThenItsRate) {
  auto one = spec(LimiterKind::kTokenBucket, {{seconds(0), 20}});
  one.burst_seconds = 0.5;
  const auto limiter = make_limiter(one);
  EXPECT_EQ(granted(*limiter, seconds(0), milliseconds(10), milliseconds(1)), 10);
  const auto refused = limiter->ask(milliseconds(10));
  EXPECT_FALSE(refused.granted);
  EXPECT_NEAR(static_cast<double>(refused.retry_after->count()), 40e6, 1e3) << "0.2 of a token is there";
  EXPECT_EQ(limiter->next(milliseconds(10)), milliseconds(10) + *refused.retry_after);
  EXPECT_NEAR(granted(*limiter, milliseconds(10), seconds(60), milliseconds(5)), 20 * 60, 1);
}

TEST(Limiter, TheLimitChangesByItsPlan) {
  for (const auto kind : limiter_kinds()) {
    if (kind == LimiterKind::kConcurrency || kind == LimiterKind::kShared) continue;
    SCOPED_TRACE(name_of(kind));
    const auto limiter = make_limiter(spec(kind, {{seconds(0), 20}, {seconds(240), 10}, {seconds(480), 40}}));
    const auto in_minute = [&](int from) {
      return granted(*limiter, seconds(from), seconds(from + 60), milliseconds(5));
    };
    granted(*limiter, seconds(0), seconds(120), milliseconds(5));
    EXPECT_NEAR(in_minute(120), 1200, 1);
    granted(*limiter, seconds(180), seconds(360), milliseconds(5));
    EXPECT_NEAR(in_minute(360), 600, 1);
    granted(*limiter, seconds(420), seconds(600), milliseconds(5));
    EXPECT_NEAR(in_minute(600), 2400, 1);
  }
}

TEST(Limiter, AWindowBeginsOnItsGrid) {
  auto one = spec(LimiterKind::kWindow60s, {{seconds(0), 1}});
  one.offset = seconds(10);
  const auto limiter = make_limiter(one);
  EXPECT_EQ(granted(*limiter, seconds(0), seconds(5), milliseconds(10)), 60);
  EXPECT_EQ(limiter->ask(seconds(5)).retry_after, seconds(5));
  EXPECT_EQ(limiter->ask(seconds(5)).quota.reset, seconds(5));
  EXPECT_EQ(limiter->next(seconds(5)), seconds(10));
  EXPECT_EQ(granted(*limiter, seconds(10), seconds(70), milliseconds(10)), 60);
  const auto first = limiter->ask(seconds(200));
  EXPECT_TRUE(first.granted);
  EXPECT_EQ(first.quota.remaining, 59);
  EXPECT_EQ(first.quota.reset, seconds(50));
}

TEST(Limiter, ASlidingWindowNeverGrantsMoreInAnyTenSeconds) {
  const auto limiter = make_limiter(spec(LimiterKind::kSliding, {{seconds(0), 2}}));
  EXPECT_EQ(granted(*limiter, seconds(8), seconds(9), milliseconds(10)), 20);
  EXPECT_EQ(granted(*limiter, seconds(9), seconds(18), milliseconds(10)), 0) << "a fixed window would forget at 10 s";
  EXPECT_EQ(limiter->next(seconds(17)), seconds(18));
  EXPECT_EQ(granted(*limiter, seconds(18), seconds(19), milliseconds(10)), 20);
}

TEST(Limiter, OfASharedLimitTheOtherOneTakesWhatItWants) {
  const auto alone = make_limiter(spec(LimiterKind::kTokenBucket, {{seconds(0), 20}}));
  const auto shared = make_limiter(spec(LimiterKind::kShared, {{seconds(0), 20}}));
  const int all = granted(*alone, seconds(0), seconds(1200), milliseconds(5));
  const int left = granted(*shared, seconds(0), seconds(1200), milliseconds(5));
  EXPECT_LT(left, 0.85 * all);
  EXPECT_GT(left, 0.55 * all) << "0.3 on average";
  const auto again = make_limiter(spec(LimiterKind::kShared, {{seconds(0), 20}}));
  EXPECT_EQ(granted(*again, seconds(0), seconds(1200), milliseconds(5)), left) << "same seed, same other one";
}

TEST(Limiter, OfConcurrencyACallHasToEndFirst) {
  const auto limiter = make_limiter(spec(LimiterKind::kConcurrency, {{seconds(0), 10}, {seconds(5), 5}}));
  EXPECT_TRUE(limiter->ask(seconds(1)).granted);
  EXPECT_TRUE(limiter->ask(seconds(1)).granted);
  EXPECT_FALSE(limiter->ask(seconds(1)).granted);
  EXPECT_EQ(limiter->next(seconds(1)), std::nullopt);
  limiter->ended(seconds(2));
  EXPECT_EQ(limiter->next(seconds(2)), seconds(2));
  EXPECT_TRUE(limiter->ask(seconds(2)).granted);
  limiter->ended(seconds(6));
  EXPECT_FALSE(limiter->ask(seconds(6)).granted) << "one at a time now";
}

TEST(Limiter, WhatItSaysInHeaders) {
  LimiterAnswer refused;
  refused.quota = {20, seconds(1), 0, milliseconds(300)};
  refused.retry_after = milliseconds(1200);
  const WallTime now{milliseconds(1'800'000'000'500)};
  const auto said = [&](HintKind kind, HintForm form, const char* name) {
    return std::string(header(hints(refused, kind, form, now), name));
  };
  EXPECT_TRUE(hints(refused, HintKind::kNone, HintForm::kThree, now).empty());
  EXPECT_EQ(said(HintKind::kRetryAfter, HintForm::kThree, "Retry-After"), "2");
  EXPECT_EQ(said(HintKind::kRateLimit, HintForm::kStructured, "RateLimit"), R"("default";r=0;t=1)");
  EXPECT_EQ(said(HintKind::kRateLimit, HintForm::kStructured, "RateLimit-Policy"), R"("default";q=20;w=1)");
  EXPECT_EQ(said(HintKind::kRateLimit, HintForm::kThree, "RateLimit-Reset"), "1");
  EXPECT_EQ(said(HintKind::kRateLimit, HintForm::kEpoch, "X-RateLimit-Reset"), "1800000001");
  refused.quota.window = nanoseconds(0);
  EXPECT_EQ(said(HintKind::kRateLimit, HintForm::kThree, "RateLimit-Policy"),
            R"("default";q=20;qu="concurrent-requests")");
}

}  // namespace
}  // namespace freshet::lab
