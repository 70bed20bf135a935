// The learner beside a token bucket that somebody else uses too and that tells what is left in it. Its constants were
// tuned on other seeds (bench/limits_trial.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <queue>
#include <string>

#include "base/random.h"
#include "functions/queue/policy/adaptive_rate.h"

namespace freshet::shared_bucket {
namespace {

constexpr double kRate = 10;                 // Units a second.
constexpr double kLearns = 30, kEnds = 630;  // Seconds.

// The other one calls at random times, is always served, and leaves the bucket in debt where it was empty. Its share of
// the limit is drawn anew every ten seconds or so. Times are in seconds and never go back.
class SharedBucket {
 public:
  struct Shares {
    double least, most;
  };
  SharedBucket(double size, Shares shares, uint64_t seed) : size_(size), shares_(shares), tokens_(size), random_(seed) {
    draw_share();
  }

  bool take(double now) {
    for (double at = std::min(next_call_, share_until_); at <= now; at = std::min(next_call_, share_until_)) {
      fill(at);
      if (at == next_call_) tokens_ -= 1;
      at == share_until_ ? draw_share() : draw_call();
    }
    fill(now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  double left() const { return std::floor(std::max(0.0, tokens_)); }

 private:
  double exponential() { return -std::log(1 - random_.unit()); }
  void fill(double now) {
    tokens_ = std::min(size_, tokens_ + kRate * (now - last_));
    last_ = now;
  }
  void draw_share() {
    share_ = shares_.least + (shares_.most - shares_.least) * random_.unit();
    share_until_ = last_ + 10 * exponential();
    draw_call();
  }
  void draw_call() { next_call_ = last_ + exponential() / std::max(share_ * kRate, 1e-3); }

  const double size_;
  const Shares shares_;
  double tokens_;
  Random random_;
  double last_ = 0;
  double share_ = 0;
  double share_until_ = 0;
  double next_call_ = 0;
};

double moment(BootTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

struct Came {
  double taken = 0, refused = 0;  // Units, after it has learnt.
};

// Somebody who knows each moment at which a unit is there.
double possible(SharedBucket bucket) {
  double taken = 0;
  for (double now = 0; now < kEnds; now += 0.001) taken += bucket.take(now) && now >= kLearns ? 1 : 0;
  return taken;
}

Came flood(SharedBucket bucket, uint64_t seed) {
  struct End {
    BootTime at;
    AdaptiveRate::Start start;
    LimitHints hints;
    bool operator<(const End& other) const { return at > other.at; }
  };
  AdaptiveRate rate(0.1, 10'000);
  Random random(seed);
  std::priority_queue<End> ends;
  Came came;
  BootTime now{};
  while (moment(now) < kEnds) {
    for (; !ends.empty() && ends.top().at <= now; ends.pop()) rate.accepted(ends.top().start, now, ends.top().hints);
    if (rate.allowed(now, 1) > 0) {
      const auto start = rate.started(now);
      const bool takes = bucket.take(moment(now));
      LimitHints hints;
      hints.limit = kRate;
      hints.window = seconds(1);
      hints.remaining = bucket.left();
      if (moment(now) >= kLearns) (takes ? came.taken : came.refused) += 1;
      const double service = -0.2 * std::log(1 - random.unit());
      takes ? ends.push({now + nanoseconds(static_cast<int64_t>(service * 1e9)), start, hints})
            : rate.refused(start, now, hints);
      continue;
    }
    const BootTime next = std::max(rate.next(now), now + nanoseconds(1));
    now = ends.empty() ? next : std::min(next, std::max(ends.top().at, now));
  }
  return came;
}

struct Sum {
  double share = 0;    // Taken of what is possible.
  double refused = 0;  // Share of the calls.
  double calls = 0;    // Per second.
};
Sum on_five_seeds(double size, SharedBucket::Shares shares) {
  double taken = 0, refused = 0, best = 0;
  for (uint64_t seed = 7001; seed <= 7005; ++seed) {
    const SharedBucket bucket(size, shares, seed);
    const Came came = flood(bucket, seed);
    taken += came.taken;
    refused += came.refused;
    best += possible(bucket);
  }
  const double calls = taken + refused;
  return {taken / std::max(best, 1.0), refused / calls, calls / 5 / (kEnds - kLearns)};
}

struct Bar {
  double size;            // The bucket, in units.
  double share, refused;  // At least that share of what is possible, and at most that share of the calls.
};
void expect_bars(std::initializer_list<Bar> bars) {
  for (const auto& [size, share, refused] : bars) {
    const Sum came = on_five_seeds(size, {0, 0.6});
    testing::Test::RecordProperty("share of " + std::to_string(size), std::to_string(came.share));
    testing::Test::RecordProperty("refused of " + std::to_string(size), std::to_string(came.refused));
    EXPECT_GE(came.share, share) << size;
    EXPECT_LE(came.refused, refused) << size;
  }
}

// Each bar is for a size of the bucket. A call just after one of the other's finds a bucket of one unit empty, however
// seldom it comes: a third of the calls may be refused, and the rate must not fall because of that.
TEST(AdaptiveRateShared, ASmallBucketIsUsedThoughItRefusesMore) {
  expect_bars({{1, 0.25, 0.33}, {2, 0.5, 0.2}, {3, 0.75, 0.12}});
}

TEST(AdaptiveRateShared, WhatIsLeftInABucketOfSomeUnitsIsRead) {
  expect_bars({{4, 0.88, 0.05}, {5, 0.9, 0.03}, {6, 0.92, 0.02}, {8, 0.95, 0.01}});
}

// Hardly anything is refused there. That does not mean that nobody else uses the limit any more.
TEST(AdaptiveRateShared, ALargeBucketIsReadThoughItNeverRefuses) {
  const Sum came = on_five_seeds(40, {0.3, 0.6});
  RecordProperty("share", std::to_string(came.share));
  EXPECT_GE(came.share, 0.97);
  EXPECT_LE(came.refused, 0.002);
}

// It gives way instead of having nearly all of its calls refused at half of the limit.
TEST(AdaptiveRateShared, OthersTakeNearlyAll) {
  for (const double size : {1.0, 2.0, 4.0, 8.0}) {
    const Sum came = on_five_seeds(size, {0.95, 0.99});
    RecordProperty("calls of " + std::to_string(size), std::to_string(came.calls));
    EXPECT_LE(came.calls, 0.1 * kRate) << size;
    EXPECT_LE(on_five_seeds(size, {1.2, 1.4}).calls, 0.03 * kRate) << "more than all, " << size;
  }
}

}  // namespace
}  // namespace freshet::shared_bucket
