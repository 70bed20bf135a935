// Models of what limits the calls to a downstream, for tests of the learner.
#pragma once

#include <algorithm>

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

}  // namespace freshet
