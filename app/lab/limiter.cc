#include "app/lab/limiter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "base/random.h"

namespace freshet::lab {

namespace {

constexpr seconds kSlidingWindow{10};

double in_seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
nanoseconds of_seconds(double time) {
  return nanoseconds(static_cast<int64_t>(std::ceil(time * 1e9)));
}

class BucketLimiter : public Limiter {
 public:
  explicit BucketLimiter(const LimiterSpec& spec) : Limiter(spec.plan), burst_seconds_(spec.burst_seconds) {
    tokens_ = size();
  }

 protected:
  double size() const { return std::max(1.0, rate() * burst_seconds_); }

  void pass(nanoseconds now) override {
    tokens_ = std::min(size(), tokens_ + rate() * in_seconds(now - last_));
    last_ = now;
  }
  void changed() override { tokens_ = std::min(tokens_, size()); }
  bool take(nanoseconds) override {
    if (tokens_ < 1 - kSlack) return false;
    tokens_ -= 1;
    return true;
  }
  std::optional<nanoseconds> wait(nanoseconds) const override {
    return tokens_ >= 1 - kSlack ? nanoseconds(0) : of_seconds((1 - tokens_) / rate());
  }
  Quota quota(nanoseconds) const override {
    return {rate(), seconds(1), std::floor(std::max(0.0, tokens_ + kSlack)), of_seconds((size() - tokens_) / rate())};
  }

  static constexpr double kSlack = 1e-9;
  double tokens_ = 0;
  nanoseconds last_{0};

 private:
  const double burst_seconds_;
};

// The other one wants a share of the limit that is drawn anew every 10 s on average. It calls at random times, is
// always served, and leaves the bucket in debt where it was empty.
class SharedLimiter final : public BucketLimiter {
 public:
  explicit SharedLimiter(const LimiterSpec& spec) : BucketLimiter(spec), random_(spec.seed) {
    draw_share(nanoseconds(0));
  }
  double left_by_others() const override { return (1 - share_) * rate(); }

 protected:
  void pass(nanoseconds now) override {
    while (std::min(next_call_, share_until_) <= now) {
      const nanoseconds at = std::min(next_call_, share_until_);
      BucketLimiter::pass(at);
      if (at == share_until_) {
        draw_share(at);
      } else {
        tokens_ -= 1;
        draw_call(at);
      }
    }
    BucketLimiter::pass(now);
  }
  void changed() override {
    BucketLimiter::changed();
    draw_call(last_);
  }

 private:
  static constexpr double kMostShare = 0.6;
  static constexpr double kShareSeconds = 10;

  double exponential() { return -std::log(1 - random_.unit()); }
  void draw_share(nanoseconds at) {
    share_ = kMostShare * random_.unit();
    share_until_ = at + of_seconds(kShareSeconds * exponential());
    draw_call(at);
  }
  void draw_call(nanoseconds at) {
    const double rate_of_other = std::max(share_ * rate(), 1e-3);
    next_call_ = at + of_seconds(exponential() / rate_of_other);
  }

  Random random_;
  double share_ = 0;
  nanoseconds share_until_{0};
  nanoseconds next_call_{0};
};

class WindowLimiter final : public Limiter {
 public:
  WindowLimiter(const LimiterSpec& spec, nanoseconds window)
      : Limiter(spec.plan), window_(window), end_(spec.offset % window) {
    if (end_.count() <= 0) end_ += window;
  }

 protected:
  double size() const { return std::max(1.0, std::floor(rate() * in_seconds(window_) + 1e-6)); }
  void pass(nanoseconds now) override {
    if (now < end_) return;
    end_ += ((now - end_) / window_ + 1) * window_;
    used_ = 0;
  }
  bool take(nanoseconds) override {
    if (used_ + 1 > size()) return false;
    used_ += 1;
    return true;
  }
  std::optional<nanoseconds> wait(nanoseconds now) const override {
    return used_ + 1 > size() ? end_ - now : nanoseconds(0);
  }
  Quota quota(nanoseconds now) const override { return {size(), window_, std::max(0.0, size() - used_), end_ - now}; }

 private:
  const nanoseconds window_;
  nanoseconds end_;
  double used_ = 0;
};

class SlidingLimiter final : public Limiter {
 public:
  explicit SlidingLimiter(const LimiterSpec& spec)
      : Limiter(spec.plan), window_(spec.window.value_or(kSlidingWindow)) {}

 protected:
  size_t size() const { return static_cast<size_t>(std::max(1.0, rate() * in_seconds(window_) + 1e-6)); }
  void pass(nanoseconds now) override {
    while (!calls_.empty() && calls_.front() + window_ <= now) calls_.pop_front();
    last_ = now;
  }
  bool take(nanoseconds) override {
    if (calls_.size() >= size()) return false;
    calls_.push_back(last_);
    return true;
  }
  std::optional<nanoseconds> wait(nanoseconds now) const override {
    if (calls_.size() < size()) return nanoseconds(0);
    return calls_[calls_.size() - size()] + window_ - now;
  }
  Quota quota(nanoseconds now) const override {
    const size_t used = std::min(calls_.size(), size());
    const nanoseconds reset = calls_.empty() ? nanoseconds(0) : calls_.front() + window_ - now;
    return {static_cast<double>(size()), window_, static_cast<double>(size() - used), reset};
  }

 private:
  const nanoseconds window_;
  std::deque<nanoseconds> calls_;
  nanoseconds last_{0};
};

class ConcurrencyLimiter final : public Limiter {
 public:
  explicit ConcurrencyLimiter(const LimiterSpec& spec) : Limiter(spec.plan), mean_(in_seconds(spec.mean_service)) {}

 protected:
  int size() const { return std::max(1, static_cast<int>(std::lround(rate() * mean_))); }
  bool take(nanoseconds) override {
    if (under_way_ >= size()) return false;
    ++under_way_;
    return true;
  }
  void leave() override { --under_way_; }
  std::optional<nanoseconds> wait(nanoseconds) const override {
    return under_way_ < size() ? std::optional(nanoseconds(0)) : std::nullopt;
  }
  Quota quota(nanoseconds) const override {
    return {static_cast<double>(size()), nanoseconds(0), static_cast<double>(std::max(0, size() - under_way_)), {}};
  }

 private:
  const double mean_;
  int under_way_ = 0;
};

constexpr std::array<std::string_view, 7> kLimiterNames = {"token-bucket", "window-1s",   "window-60s", "sliding-10s",
                                                           "shared",       "concurrency", "each-group"};

}  // namespace

void Limiter::follow(nanoseconds now) {
  for (; step_ < plan_.size() && plan_[step_].at <= now; ++step_) {
    pass(plan_[step_].at);
    rate_ = plan_[step_].rate;
    changed();
  }
  pass(now);
}

LimiterAnswer Limiter::ask(nanoseconds now) {
  follow(now);
  LimiterAnswer answer;
  answer.granted = take(now);
  answer.quota = quota(now);
  if (!answer.granted) answer.retry_after = wait(now);
  return answer;
}

void Limiter::ended(nanoseconds now) {
  follow(now);
  leave();
}

std::optional<nanoseconds> Limiter::next(nanoseconds now) {
  follow(now);
  const auto left = wait(now);
  if (!left) return std::nullopt;
  // A change of the limit may let it be earlier.
  if (step_ < plan_.size()) return std::min(now + *left, std::max(now, plan_[step_].at));
  return now + *left;
}

std::unique_ptr<Limiter> make_limiter(const LimiterSpec& spec) {
  switch (spec.kind) {
    case LimiterKind::kTokenBucket:
    case LimiterKind::kEachGroup:
      return std::make_unique<BucketLimiter>(spec);
    case LimiterKind::kWindow1s:
    case LimiterKind::kWindow60s:
      return std::make_unique<WindowLimiter>(spec, spec.window.value_or(window_of(spec.kind)));
    case LimiterKind::kSliding:
      return std::make_unique<SlidingLimiter>(spec);
    case LimiterKind::kShared:
      return std::make_unique<SharedLimiter>(spec);
    case LimiterKind::kConcurrency:
      break;
  }
  return std::make_unique<ConcurrencyLimiter>(spec);
}

nanoseconds window_of(LimiterKind kind) {
  if (kind == LimiterKind::kWindow60s) return seconds(60);
  return kind == LimiterKind::kSliding ? nanoseconds(kSlidingWindow) : nanoseconds(seconds(1));
}

std::string_view name_of(LimiterKind kind) {
  return kLimiterNames[static_cast<size_t>(kind)];
}

const std::vector<LimiterKind>& limiter_kinds() {
  static const std::vector<LimiterKind> all = {
      LimiterKind::kTokenBucket, LimiterKind::kWindow1s,    LimiterKind::kWindow60s, LimiterKind::kSliding,
      LimiterKind::kShared,      LimiterKind::kConcurrency, LimiterKind::kEachGroup};
  return all;
}

Result<LimiterKind> limiter_kind_of(std::string_view name) {
  std::string names;
  for (const auto kind : limiter_kinds()) {
    if (name_of(kind) == name) return kind;
    names.append(names.empty() ? "" : ", ").append(name_of(kind));
  }
  return invalid("--limiter '" + std::string(name) + "' is none of " + names);
}

}  // namespace freshet::lab
