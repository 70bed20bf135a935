// The learner beside models of limiters: after each change of the limit it gets nearly what somebody gets who knows the
// limit, and little of what it asks for is refused. Its constants were tuned on other seeds (app/lab/limits.h).
#include "functions/queue/policy/adaptive_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <utility>

#include "base/random.h"
#include "tests/functions/policy/limiters.h"

namespace freshet {
namespace {

double in_seconds(BootTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// A limit of concurrent calls: as many as are done in 200 ms.
class AtATime final : public Limiter {
 public:
  bool take(double, double limit, LimitHints&) override {
    if (busy_ + 1 > std::lround(limit * 0.2)) return false;
    ++busy_;
    return true;
  }
  void ended() override { --busy_; }

 private:
  long busy_ = 0;
};

// The limit is 20, then 10, then 40 a second; nobody says when.
class Trial {
 public:
  struct Came {
    double of_possible = 0;
    double refused = 0;  // Share of the calls.
  };
  Trial(Limiter& limiter, double phase, double settle, uint64_t seed)
      : limiter_(limiter), phase_(phase), settle_(settle), random_(seed) {}

  Came go() {
    const BootTime end(nanoseconds(static_cast<int64_t>(3 * phase_ * 1e9)));
    while (now_ < end) {
      while (!ends_.empty() && ends_.top().at <= now_) answer();
      if (rate_.allowed(now_, 1000) > 0) {
        call();
        continue;
      }
      const BootTime next = std::max(rate_.next(now_), now_ + nanoseconds(1));
      now_ = ends_.empty() ? next : std::min(next, std::max(ends_.top().at, now_));
    }
    return {accepted_ / possible(), refused_ / (accepted_ + refused_)};
  }
  double rate() const { return rate_.rate(); }
  size_t concurrency() const { return rate_.concurrency(); }

 private:
  struct End {
    BootTime at;
    AdaptiveRate::Start start;
    LimitHints hints;
    bool operator<(const End& other) const { return at > other.at; }
  };

  static double limit_in(int phase) { return phase == 0 ? 20 : phase == 1 ? 10 : 40; }
  int phase() const { return std::min(2, static_cast<int>(in_seconds(now_) / phase_)); }
  bool counts() const { return in_seconds(now_) - phase() * phase_ >= settle_; }
  double possible() const { return (limit_in(0) + limit_in(1) + limit_in(2)) * (phase_ - settle_); }

  void call() {
    const auto start = rate_.started(now_);
    LimitHints hints;
    if (limiter_.take(in_seconds(now_), limit_in(phase()), hints)) {
      accepted_ += counts() ? 1 : 0;
      const double service = -0.2 * std::log(1 - random_.unit());
      ends_.push({now_ + nanoseconds(static_cast<int64_t>(service * 1e9)), start, hints});
    } else {
      refused_ += counts() ? 1 : 0;
      rate_.refused(start, now_, hints);
    }
  }
  void answer() {
    limiter_.ended();
    rate_.accepted(ends_.top().start, now_, ends_.top().hints);
    ends_.pop();
  }

  Limiter& limiter_;
  const double phase_;
  const double settle_;
  Random random_;
  AdaptiveRate rate_{0.1, 10'000};
  BootTime now_{};
  std::priority_queue<End> ends_;
  double accepted_ = 0;
  double refused_ = 0;
};

// The mean share of what is possible.
double expect_bars(const std::function<std::unique_ptr<Limiter>(Random&)>& make, double phase, double settle,
                   double most_refused, double least = 0.95) {
  double sum = 0;
  for (uint64_t seed = 7001; seed <= 7005; ++seed) {
    Random random(seed);
    const auto limiter = make(random);
    const auto came = Trial(*limiter, phase, settle, seed).go();
    EXPECT_GE(came.of_possible, least) << seed;
    EXPECT_LE(came.refused, most_refused) << seed;
    sum += came.of_possible;
  }
  return sum / 5;
}

TEST(AdaptiveRate, ABucketThatRefusesWithoutAWord) {
  expect_bars([](Random& random) { return std::make_unique<BucketLimiter>(0.1 + 0.9 * random.unit()); }, 120, 10, 0.02);
}

TEST(AdaptiveRate, AWindowOfASecond) {
  expect_bars([](Random&) { return std::make_unique<WindowLimiter>(1, false); }, 120, 10, 0.02);
}

// A limit for any ten seconds.
class Sliding final : public Limiter {
 public:
  bool take(double now, double limit, LimitHints&) override {
    while (!calls_.empty() && calls_.front() <= now - 10) calls_.pop_front();
    if (static_cast<double>(calls_.size()) + 1 > 10 * limit) return false;
    calls_.push_back(now);
    return true;
  }

 private:
  std::deque<double> calls_;
};

TEST(AdaptiveRate, AWindowOfTenSecondsThatSlides) {
  expect_bars([](Random&) { return std::make_unique<Sliding>(); }, 120, 10, 0.02, 0.945);
}

TEST(AdaptiveRate, AWindowOfAMinute) {
  expect_bars([](Random&) { return std::make_unique<WindowLimiter>(60, false); }, 240, 120, 0.02);
}

TEST(AdaptiveRate, AWindowOfASecondThatTells) {
  expect_bars([](Random&) { return std::make_unique<WindowLimiter>(1, true); }, 120, 10, 0.01);
}

TEST(AdaptiveRate, AWindowOfAMinuteThatTells) {
  expect_bars([](Random&) { return std::make_unique<WindowLimiter>(60, true); }, 240, 120, 0.01);
}

// Nothing is left of it, and the next one begins in 2 s.
TEST(AdaptiveRate, AWindowThatTellsIsAwaitedNoLongerThanItLasts) {
  AdaptiveRate rate(0.1, 1000);
  BootTime now(seconds(100));
  const BootTime end = now + seconds(10);
  for (; now < end - seconds(2); now += milliseconds(500)) {
    LimitHints hints;
    hints.limit = 600;
    hints.window = seconds(60);
    hints.remaining = 0;
    hints.reset = std::chrono::duration_cast<milliseconds>(end - now);
    rate.accepted(rate.started(now), now, hints);
  }
  EXPECT_GT(rate.next(now), now + seconds(1));
  EXPECT_LE(rate.next(now), end);
}

TEST(AdaptiveRate, CallsUnderWay) {
  expect_bars([](Random&) { return std::make_unique<AtATime>(); }, 120, 10, 0.01);
  AtATime limiter;
  Trial run(limiter, 60, 10, 7);
  run.go();
  EXPECT_NEAR(static_cast<double>(run.concurrency()), 8, 1);
}

// Refuses as another does, and asks for a pause of a second each time.
class AsksForASecond final : public Limiter {
 public:
  explicit AsksForASecond(std::unique_ptr<Limiter> inner) : inner_(std::move(inner)) {}
  bool take(double now, double limit, LimitHints& hints) override {
    const bool granted = inner_->take(now, limit, hints);
    if (!granted) hints.retry_after = seconds(1);
    return granted;
  }

 private:
  const std::unique_ptr<Limiter> inner_;
};

// Each refusal costs a second then, but for what a bucket saves meanwhile.
TEST(AdaptiveRate, ABucketThatAsksForPauses) {
  const auto make = [](Random& random) {
    return std::make_unique<AsksForASecond>(std::make_unique<BucketLimiter>(0.1 + 0.9 * random.unit()));
  };
  EXPECT_GE(expect_bars(make, 120, 10, 0.01, 0.86), 0.935);
}

TEST(AdaptiveRate, AWindowThatAsksForPauses) {
  const auto make = [](Random&) { return std::make_unique<AsksForASecond>(std::make_unique<WindowLimiter>(1, false)); };
  EXPECT_GE(expect_bars(make, 120, 10, 0.01, 0.85), 0.9);
}

TEST(AdaptiveRate, RetryAfterIsObeyed) {
  AdaptiveRate rate(0.1, 1000);
  BootTime now(seconds(100));
  LimitHints hints;
  hints.retry_after = milliseconds(5'000);
  rate.refused(rate.started(now), now, hints);
  EXPECT_EQ(rate.allowed(now + milliseconds(4'999), 10), 0u);
  EXPECT_GE(rate.next(now), now + seconds(5));
  EXPECT_EQ(rate.allowed(now + milliseconds(5'001), 10), 1u) << "no burst was saved";
}

TEST(AdaptiveRate, StaysWithinItsBounds) {
  AdaptiveRate rate(2, 4);
  BootTime now(seconds(100));
  size_t started = 0;
  for (int i = 0; i < 10'000; ++i, now += milliseconds(1)) {
    for (size_t n = rate.allowed(now, 100); n > 0; --n, ++started) rate.accepted(rate.started(now), now);
  }
  EXPECT_LE(started, 41u);
  for (int i = 0; i < 100; ++i, now = rate.next(now)) rate.refused(rate.started(now), now);
  EXPECT_GE(rate.rate(), 2);
  rate.set_bounds(5, 6);
  EXPECT_GE(rate.rate(), 5);
}

TEST(AdaptiveRate, ACostlyCallDelaysTheNext) {
  AdaptiveRate rate(10, 10);
  BootTime now(seconds(100));
  const auto start = rate.started(now, 5);
  EXPECT_NEAR(in_seconds(rate.next(now)) - in_seconds(now), 0.5, 0.02);
  rate.accepted(start, now, {}, 20);
  EXPECT_NEAR(in_seconds(rate.next(now)) - in_seconds(now), 2, 0.02) << "it turned out to cost more";
}

// A single hint, of a proxy in front for example, does not hold for ever.
TEST(AdaptiveRate, WhatWasToldOnceIsForgotten) {
  LimitHints slow;
  slow.limit = 1;
  slow.window = milliseconds(60'000);
  slow.remaining = 0;
  slow.reset = seconds(366 * 24 * 3600);
  LimitHints nothing;
  nothing.limit = 0;
  nothing.window = milliseconds(1'000);
  for (const auto& hints : {slow, nothing}) {
    AdaptiveRate rate(0.1, 1000);
    BootTime now(seconds(100));
    for (int i = 0; i < 5; ++i, now = std::max(rate.next(now), now + milliseconds(1))) {
      rate.accepted(rate.started(now), now, hints);
    }
    const BootTime until = now + seconds(180);
    while (now < until && rate.rate() < 20) {
      if (rate.allowed(now, 1) > 0) rate.accepted(rate.started(now), now);
      now = std::max(rate.next(now), now + milliseconds(1));
    }
    EXPECT_GE(rate.rate(), 20) << *hints.limit;
  }
}

// The reply of a downstream to a call at that time (seconds), with this many accepted calls running.
struct Reply {
  bool takes = true;
  double after = 0.02;  // Seconds until the answer.
  LimitHints hints{};
};

// A flood from 0 s on; counts what is taken and refused from `from` to `to`, in seconds.
struct Flood {
  double taken = 0, refused = 0;  // A second.
  size_t concurrency = 0;

  Flood(double from, double to, const std::function<Reply(double now, long under_way)>& reply) {
    struct End {
      BootTime at;
      AdaptiveRate::Start start;
      Reply reply;
      bool operator<(const End& other) const { return at > other.at; }
    };
    AdaptiveRate rate(0.1, 100'000);
    std::priority_queue<End> ends;
    long under_way = 0;
    BootTime now(seconds(1));
    const BootTime begin = now;
    const auto passed = [&] { return in_seconds(now) - in_seconds(begin); };
    while (passed() < to) {
      while (!ends.empty() && ends.top().at <= now) {
        const End end = ends.top();
        ends.pop();
        under_way -= end.reply.takes ? 1 : 0;
        const bool counts = passed() >= from;
        if (counts) (end.reply.takes ? taken : refused) += 1 / (to - from);
        end.reply.takes ? rate.accepted(end.start, now, end.reply.hints)
                        : rate.refused(end.start, now, end.reply.hints);
      }
      const size_t allowed = rate.allowed(now, 1000);
      for (size_t i = 0; i < allowed; ++i) {
        const auto start = rate.started(now);
        const Reply answer = reply(passed(), under_way);
        under_way += answer.takes ? 1 : 0;
        ends.push({now + nanoseconds(static_cast<int64_t>(answer.after * 1e9)), start, answer});
      }
      if (allowed > 0) continue;
      const BootTime next = std::max(rate.next(now), now + milliseconds(1));
      now = ends.empty() ? next : std::min(next, std::max(ends.top().at, now));
    }
    concurrency = rate.concurrency();
  }
};

// Two in a hundred calls are refused at most.
TEST(AdaptiveRate, ASlowDownstream) {
  for (const double limit : {2.0, 3.0, 5.0}) {
    BucketLimiter bucket(1);
    LimitHints hints;
    const Flood came(60, 1'260, [&](double now, long) { return Reply{bucket.take(now, limit, hints)}; });
    EXPECT_GE(came.taken, 0.95 * limit);
    EXPECT_LE(came.refused, 0.02 * limit) << limit;
  }
}

// It was 20 a second, and fell to 10: that it rises again is likely, and is found soon.
TEST(AdaptiveRate, ALimitThatRisesAgainIsFoundSoon) {
  for (double rises = 200; rises < 208; rises += 1) {
    BucketLimiter bucket(0.2);
    LimitHints hints;
    const Flood came(rises, rises + 10, [&](double now, long) {
      return Reply{bucket.take(now, now < 100 ? 20 : now < rises ? 10 : 40, hints)};
    });
    EXPECT_GE(came.taken, 0.6 * 40) << rises;
  }
}

// Timeouts say nothing. A rate that rises meanwhile would only bury a downstream that is in trouble.
TEST(AdaptiveRate, ItDoesNotClimbWhileNothingIsAnswered) {
  for (const double begins : {0.0, 20.0, 61.3}) {
    AdaptiveRate rate(0.1, 100'000);
    BucketLimiter bucket(0.5);
    LimitHints hints;
    BootTime now(seconds(100));
    const BootTime silent = now + nanoseconds(static_cast<int64_t>(begins * 1e9));
    double before = 0, after = 0;
    while (now < silent + seconds(300)) {
      if (rate.allowed(now, 1) > 0) {
        const auto start = rate.started(now);
        if (now >= silent) {
          rate.abandoned(start);
        } else {
          bucket.take(in_seconds(now), 20, hints) ? rate.accepted(start, now) : rate.refused(start, now);
        }
        before += now < silent && now >= silent - seconds(5) ? 1.0 / 5 : 0;
        after += now >= silent + seconds(200) ? 1.0 / 100 : 0;
      }
      now = std::max(rate.next(now), now + milliseconds(1));
    }
    EXPECT_LE(after, std::max(5.5, 2.0 * before)) << begins;
    EXPECT_GE(after, 1) << begins;
  }
}

// The quota of a minute is spread over the minute as soon as two ends of a window were seen, so that nobody waits long.
TEST(AdaptiveRate, AMinuteIsNotUsedUpAtOnce) {
  for (const double offset : {3.0, 17.0, 31.0, 44.0, 58.0}) {
    WindowLimiter window(60, false);
    LimitHints hints;
    double last = 0, longest = 0, longest_late = 0;
    const Flood came(180, 900, [&](double now, long) {
      const bool takes = window.take(now + offset, 20, hints);
      if (takes && now >= 180) longest = std::max(longest, now - last);
      if (takes && now >= 480) longest_late = std::max(longest_late, now - last);
      if (takes) last = now;
      return Reply{takes};
    });
    EXPECT_LE(longest, 8) << offset;
    EXPECT_LE(longest_late, 2) << offset << ": once the edge of the window is known well";
    EXPECT_GE(came.taken, 0.95 * 20) << offset;
    EXPECT_LE(came.refused, 0.01 * 20) << offset;
  }
}

// The next windows spend what is sure first, and find the rest in their last seconds.
TEST(AdaptiveRate, AWindowThatAllowsMoreIsNotUsedUpEarly) {
  WindowLimiter window(60, false);
  LimitHints hints;
  double last = 0, longest = 0;
  const Flood came(660, 900, [&](double now, long) {
    const bool takes = window.take(now, now < 480 ? 10 : 40, hints);
    if (takes && now > 540) longest = std::max(longest, now - last);
    if (takes) last = now;
    return Reply{takes};
  });
  EXPECT_GE(came.taken, 0.95 * 40);
  EXPECT_LE(longest, 5) << "seconds in which nothing was taken";
}

TEST(AdaptiveRate, AnOutageOfAWholeWindowLeavesTheWindowAsItWas) {
  for (const double length : {65.0, 75.0, 85.0}) {
    WindowLimiter window(60, false);
    LimitHints hints;
    const Flood came(420, 480, [&](double now, long) {
      return Reply{window.take(now, 20, hints) && (now < 290 || now >= 290 + length)};
    });
    EXPECT_GE(came.taken, 0.9 * 20) << length;
  }
}

// The first run of refusals is shorter than the window, whose beginning nobody has seen.
TEST(AdaptiveRate, ACallWhoseRefusalIsUnderWayEndsNoRun) {
  for (double offset = 20; offset < 34; offset += 1) {
    WindowLimiter window(60, false);
    LimitHints hints;
    const Flood came(120, 240, [&](double now, long) { return Reply{window.take(now + offset, 20, hints)}; });
    EXPECT_GE(came.taken, 0.95 * 20) << offset;
  }
}

// Refused for minutes, it finds its rate again within half a minute, and asks at least every 10 s before.
TEST(AdaptiveRate, AnOutageSaysNothingOfTheRate) {
  for (const double length : {5.0, 60.0, 600.0, 3600.0}) {
    for (const double begins : {0.0, 120.0}) {
      BucketLimiter bucket(0.5);
      LimitHints hints;
      const Flood came(begins + length + 30, begins + length + 90, [&](double now, long) {
        const bool takes = bucket.take(now, 20, hints);
        return Reply{takes && (now < begins || now >= begins + length)};
      });
      EXPECT_GE(came.taken, 0.9 * 20) << length << " s from " << begins << " s on";
      EXPECT_LE(came.refused, 0.03 * 20) << length << " s from " << begins << " s on";
    }
  }
  const Flood during(600, 3600, [](double, long) { return Reply{false}; });
  EXPECT_GE(during.refused, 0.09) << "calls a second that find out when it is over";
  EXPECT_LE(during.refused, 0.2);
}

// A window that is used up refuses everything. Two calls that start before the first one is refused are no sign that it
// was accepted.
TEST(AdaptiveRate, AfterSeveralRefusalsOneCallIsTriedAtATime) {
  constexpr milliseconds kRefusalTakes{30};
  AdaptiveRate rate(0.1, 10'000);
  BootTime now(seconds(100));
  for (int i = 0; i < 1'000; ++i) {
    now = rate.next(now);
    rate.accepted(rate.started(now), now);
  }
  for (int i = 0; i < 6; ++i) {
    now = rate.next(now);
    const auto start = rate.started(now);
    now += kRefusalTakes;
    rate.refused(start, now);
  }
  const double known = rate.rate();
  now = rate.next(now);
  EXPECT_EQ(rate.allowed(now, 100), 1u);
  const auto first = rate.started(now);
  EXPECT_EQ(rate.allowed(now + milliseconds(1), 100), 0u);
  EXPECT_GT(rate.next(now), now + kRefusalTakes);
  // A caller that does not ask.
  const auto second = rate.started(now + milliseconds(10));
  rate.refused(first, now + kRefusalTakes);
  rate.refused(second, now + milliseconds(10) + kRefusalTakes);
  EXPECT_EQ(rate.rate(), known);
  // One that is not refused in that time counts as accepted, however long it takes.
  now = rate.next(now + seconds(1));
  const auto third = rate.started(now);
  now = rate.next(now);
  EXPECT_GT(rate.allowed(now, 100), 0u);
  const auto fourth = rate.started(now);
  EXPECT_LT(rate.next(now), now + seconds(1)) << "it goes on";
  rate.accepted(third, now + seconds(3));
  rate.accepted(fourth, now + seconds(3));
}

TEST(AdaptiveRate, ThousandsASecond) {
  BucketLimiter bucket(0.5);
  LimitHints hints;
  const Flood came(20, 60, [&](double now, long) { return Reply{bucket.take(now, 5'000, hints)}; });
  EXPECT_GE(came.taken, 0.95 * 5'000);
  EXPECT_LE(came.refused, 0.02 * 5'000);
}

TEST(AdaptiveRate, CallsOfAMinuteAreNoLimitOfCallsUnderWay) {
  BucketLimiter bucket(0.5);
  LimitHints hints;
  const Flood came(60, 900, [&](double now, long) {
    const bool takes = bucket.take(now, 20, hints);
    return Reply{takes, takes ? 60 : 0.02};
  });
  EXPECT_GE(came.taken, 0.9 * 20);
  EXPECT_LE(came.refused, 0.02 * 20);
}

// It tells of a limit of calls under way, and has one of calls over time that it does not tell of.
TEST(AdaptiveRate, ARateBesideCallsUnderWayThatAreTold) {
  BucketLimiter bucket(0.5);
  LimitHints hints;
  const Flood came(30, 300, [&](double now, long under_way) {
    if (under_way < 8 && !bucket.take(now, 20, hints)) return Reply{false};
    Reply reply{under_way < 8, 0.1};
    reply.hints.limit = 8;
    reply.hints.concurrent = true;
    return reply;
  });
  EXPECT_GE(came.taken, 0.95 * 20);
  EXPECT_LE(came.refused, 0.02 * 20);
  EXPECT_EQ(came.concurrency, 8u);
}

// Within 20 minutes the time of one answer is forgotten, though all others go on to tell.
TEST(AdaptiveRate, AResetThatWasWrong) {
  WindowLimiter window(1, true);
  bool told = false;
  const Flood came(1'300, 1'500, [&](double now, long) {
    Reply reply;
    reply.takes = window.take(now, 20, reply.hints);
    if (now > 60 && !std::exchange(told, true)) reply.hints.reset = milliseconds(int64_t{366} * 86'400'000);
    return reply;
  });
  EXPECT_GE(came.taken, 0.95 * 20);
}

// A server that tells its resets as times of day by a clock that is off, in whole seconds.
TEST(AdaptiveRate, ResetsThatAreTimesOfDay) {
  for (const double off : {0.0, 0.3, 0.9, 3.7}) {
    WindowLimiter window(1, true);
    const Flood came(10, 60, [&](double now, long) {
      Reply reply;
      reply.takes = window.take(now + 0.4, 20, reply.hints);
      const double end = std::floor(now + 0.4) + 1 - 0.4;
      reply.hints.reset = milliseconds(static_cast<int64_t>(1000 * (end + off - now)));
      reply.hints.reset_is_time = true;
      return reply;
    });
    EXPECT_GE(came.taken, 0.95 * 20) << off;
    EXPECT_LE(came.refused, 0.01 * 20) << off;
  }
}

TEST(AdaptiveRate, TheWindowOfAnHourBecomesOneOfASecond) {
  WindowLimiter hour(3600, true), second(1, true);
  const Flood came(7'200 + 120, 7'200 + 240, [&](double now, long) {
    Reply reply;
    WindowLimiter& window = now < 7'200 ? hour : second;
    reply.takes = window.take(now, now < 7'200 ? 0.1 : 20, reply.hints);
    return reply;
  });
  EXPECT_GE(came.taken, 0.95 * 20);
}

// It never hangs and never lets nothing start for ever, whatever the answers are.
TEST(AdaptiveRate, OddAnswersInAnyOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    AdaptiveRate rate(0.5, 1000);
    BootTime now(seconds(100));
    std::deque<AdaptiveRate::Start> open;
    const auto some = [&](double most) {
      return random.below(3) == 0 ? std::optional(most * random.unit()) : std::nullopt;
    };
    for (int i = 0; i < 3'000; ++i) {
      if (rate.allowed(now, 5) > 0) open.push_back(rate.started(now, random.unit() * 3));
      LimitHints hints;
      hints.limit = some(1e6);
      hints.remaining = some(1e3);
      if (random.below(4) == 0) hints.window = milliseconds(random.below(100'000));
      if (random.below(4) == 0) hints.reset = milliseconds(random.below(100'000));
      if (random.below(50) == 0) hints.retry_after = milliseconds(random.below(3'000));
      if (!open.empty() && random.below(2) == 0) {
        const size_t which = random.below(open.size());
        const auto start = open[which];
        open.erase(open.begin() + static_cast<long>(which));
        const auto how = random.below(3);
        how == 0   ? rate.refused(start, now, hints)
        : how == 1 ? rate.accepted(start, now, hints)
                   : rate.abandoned(start);
      }
      now = std::min(std::max(rate.next(now), now + milliseconds(1)), now + seconds(30));
      ASSERT_TRUE(std::isfinite(rate.rate()));
      ASSERT_GE(rate.rate(), 0.5);
      ASSERT_LE(rate.rate(), 1000);
    }
    while (!open.empty()) rate.abandoned(open.back()), open.pop_back();
    const BootTime until = now + seconds(600);
    while (now < until && rate.allowed(now, 1) == 0) now = rate.next(now);
    EXPECT_LT(now, until) << seed;
  }
}

}  // namespace
}  // namespace freshet
