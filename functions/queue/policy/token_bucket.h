// A rate limit as a token bucket with an explicit now. Pure state, no clock.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace freshet {

class TokenBucket {
 public:
  // `rate` starts a second, 0: no limit; at most `burst` at once, 0: one second's worth.
  explicit TokenBucket(double rate, double burst = 0) : rate_(rate), burst_(most(rate, burst)), tokens_(burst_) {}

  // From now on; what was used counts.
  void set(double rate, double burst = 0) {
    if (rate == rate_ && most(rate, burst) == burst_) return;
    burst_ = most(rate, burst);
    tokens_ = rate_ > 0 ? std::min(tokens_, burst_) : burst_;
    rate_ = rate;
  }
  // How many of `wanted` may start now.
  size_t available(BootTime now, size_t wanted) {
    if (rate_ <= 0) return wanted;
    if (last_) tokens_ = std::min(burst_, tokens_ + rate_ * std::chrono::duration<double>(now - *last_).count());
    last_ = now;
    return std::min(wanted, static_cast<size_t>(tokens_ + 1e-9));
  }
  void use(size_t count) {
    if (rate_ > 0) tokens_ -= static_cast<double>(count);
  }
  // When the next one may start. After available() with the same now.
  BootTime next(BootTime now) const {
    if (rate_ <= 0 || tokens_ >= 1) return now;
    auto wait = std::min((1 - tokens_) / rate_, 3600.0);
    return now + std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(wait)) + nanoseconds(1);
  }

 private:
  static double most(double rate, double burst) { return burst > 0 ? burst : std::max(rate, 1.0); }

  double rate_;
  double burst_;
  double tokens_;
  std::optional<BootTime> last_;
};

}  // namespace freshet
