// Models of what limits the calls to a downstream, for tests of the learner.
#pragma once

#include <algorithm>
#include <cmath>

#include "functions/queue/policy/limit_hints.h"

namespace freshet {

// Refuses calls. Times are in seconds and never go back.
class Limiter {
 public:
  virtual ~Limiter() = default;
  virtual bool take(double now, double limit, LimitHints& hints) = 0;
  virtual void ended() {}
};

class BucketLimiter final : public Limiter {
 public:
  explicit BucketLimiter(double holds_seconds) : holds_(holds_seconds) {}
  bool take(double now, double limit, LimitHints&) override {
    tokens_ = std::min(std::max(1.0, holds_ * limit), tokens_ + limit * (now - last_));
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  const double holds_;
  double tokens_ = 1;
  double last_ = 0;
};

// A limit for each window of a fixed grid. With `has_headers`, headers report it.
class WindowLimiter final : public Limiter {
 public:
  WindowLimiter(double length, bool has_headers) : length_(length), has_headers_(has_headers) {}
  bool take(double now, double limit, LimitHints& hints) override {
    const double number = std::floor(now / length_);
    if (number != number_) used_ = 0;
    number_ = number;
    const bool granted = used_ + 1 <= limit * length_;
    used_ += granted ? 1 : 0;
    if (has_headers_) {
      hints.limit = limit * length_;
      hints.remaining = std::max(0.0, limit * length_ - used_);
      hints.reset = milliseconds(static_cast<int64_t>(std::ceil((number + 1) * length_ - now)) * 1000);
    }
    return granted;
  }

 private:
  const double length_;
  const bool has_headers_;
  double number_ = 0;
  double used_ = 0;
};

}  // namespace freshet
