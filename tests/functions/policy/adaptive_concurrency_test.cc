// CONCURRENCY=adaptive: the policy alone against a downstream that slows down.
#include "functions/queue/policy/adaptive_concurrency.h"

#include <gtest/gtest.h>

#include <cmath>
#include <queue>

#include "base/random.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

enum class Times { kConstant, kExponential, kLognormal };
enum class Change { kNone, kSlower, kFewer, kMore };

// A downstream with a number of servers, where further calls wait. The caller always has more tasks.
class SlowingDownstream {
 public:
  SlowingDownstream(uint64_t seed, Times times, size_t servers) : random_(seed), times_(times), servers_(servers) {}

  void run_until(AdaptiveConcurrency& policy, nanoseconds end) {
    offer(policy);
    while (!ends_.empty() && ends_.top() <= end) {
      now_ = ends_.top();
      ends_.pop();
      ++done_;
      policy.ended(BootTime(now_));
      offer(policy);
    }
    now_ = end;
  }
  void change(Change what) {
    if (what == Change::kSlower) mean_ms_ *= 4;
    if (what == Change::kFewer) servers_ /= 4;
    if (what == Change::kMore) servers_ *= 4;
  }
  size_t servers() const { return servers_; }
  uint64_t done() const { return done_; }

 private:
  void offer(AdaptiveConcurrency& policy) {
    while (policy.in_work() < policy.limit()) {
      policy.started(BootTime(now_));
      ++waiting_;
    }
    for (; waiting_ > 0 && ends_.size() < servers_; --waiting_) {
      ends_.push(now_ + nanoseconds(static_cast<int64_t>(draw() * mean_ms_ * 1e6)));
    }
  }
  double draw() {
    const double exponential = -std::log(1 - random_.unit());
    if (times_ == Times::kConstant) return 1;
    if (times_ == Times::kExponential) return exponential;
    return std::exp(std::sqrt(2 * exponential) * std::cos(2 * 3.14159265358979 * random_.unit()) - 0.5);
  }

  Random random_;
  const Times times_;
  size_t servers_;
  double mean_ms_ = 100;
  nanoseconds now_{0};
  size_t waiting_ = 0;
  uint64_t done_ = 0;
  std::priority_queue<nanoseconds, std::vector<nanoseconds>, std::greater<>> ends_;
};

bool is_near(double value, double best) {
  return std::abs(value / best - 1) <= 0.2;
}

// How many of the seeds are within a fifth of the best concurrency ten seconds after the change.
int near_in_ten_seconds(Times times, Change change, size_t servers, int seeds) {
  int near = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    SlowingDownstream downstream(static_cast<uint64_t>(seed), times, servers);
    AdaptiveConcurrency policy(1, 1000);
    downstream.run_until(policy, seconds(30));
    downstream.change(change);
    downstream.run_until(policy, seconds(40));
    near += is_near(policy.knee(), static_cast<double>(downstream.servers()));
  }
  return near;
}

// In one case each task takes four times as long, in the other three of four servers fail: the best concurrency stays,
// or falls to a quarter.
TEST(AdaptiveConcurrency, FollowsADownstreamThatSlowsDownFourTimes) {
  constexpr int kSeeds = 20;
  int near = 0, all = 0;
  for (const Times times : {Times::kExponential, Times::kLognormal}) {
    for (const Change change : {Change::kSlower, Change::kFewer}) {
      const int one = near_in_ten_seconds(times, change, 16, kSeeds);
      EXPECT_GE(one, kSeeds * 85 / 100) << static_cast<int>(times) << " " << static_cast<int>(change);
      near += one;
      all += kSeeds;
    }
  }
  EXPECT_GE(near * 100, all * 95) << near << " of " << all;
}

TEST(AdaptiveConcurrency, FollowsServersThatComeBack) {
  EXPECT_GE(near_in_ten_seconds(Times::kExponential, Change::kMore, 16, 5), 4);
}

TEST(AdaptiveConcurrency, FindsTheKneeAndUsesTheDownstream) {
  for (const Times times : {Times::kConstant, Times::kExponential, Times::kLognormal}) {
    SlowingDownstream downstream(7, times, 16);
    AdaptiveConcurrency policy(1, 1000);
    downstream.run_until(policy, seconds(20));
    const uint64_t before = downstream.done();
    downstream.run_until(policy, seconds(60));
    EXPECT_TRUE(is_near(policy.knee(), 16)) << policy.knee();
    EXPECT_GE(static_cast<double>(downstream.done() - before), 0.85 * 160 * 40) << "it is kept busy";
  }
}

TEST(AdaptiveConcurrency, StaysInItsBounds) {
  SlowingDownstream downstream(3, Times::kExponential, 64);
  AdaptiveConcurrency policy(4, 8);
  EXPECT_EQ(policy.limit(), 4u);
  downstream.run_until(policy, seconds(20));
  EXPECT_LE(policy.limit(), 8u);
  EXPECT_GE(policy.limit(), 6u) << "it looks around even there";
  policy.set_bounds(2, 2);
  EXPECT_EQ(policy.limit(), 2u);
  for (int i = 0; i < 100; ++i) policy.refused(BootTime(seconds(30)));
  EXPECT_EQ(policy.limit(), 2u);
}

TEST(AdaptiveConcurrency, WhatIsRefusedLowersIt) {
  SlowingDownstream downstream(5, Times::kExponential, 16);
  AdaptiveConcurrency policy(1, 100);
  downstream.run_until(policy, seconds(20));
  const size_t before = policy.limit();
  for (int i = 0; i < 20; ++i) policy.refused(BootTime(seconds(20)));
  EXPECT_LT(policy.limit(), before);
}

// A few tasks now and then say nothing of a knee far above them, and do no harm.
TEST(AdaptiveConcurrency, WithLittleToDoItStaysReady) {
  AdaptiveConcurrency policy(1, 100);
  for (int i = 0; i < 2'000; ++i) {
    policy.started(BootTime(milliseconds(200 * i)));
    policy.started(BootTime(milliseconds(200 * i)));
    policy.ended(BootTime(milliseconds(200 * i + 50)));
    policy.ended(BootTime(milliseconds(200 * i + 50)));
  }
  EXPECT_GE(policy.limit(), 2u);
  EXPECT_LE(policy.limit(), 5u) << "more was never tried";
}

}  // namespace
}  // namespace freshet
