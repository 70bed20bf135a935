// A rate limit as a token bucket with an explicit now. Pure state, no clock.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace freshet {

class TokenBucket {
 public:
  // `rate` starts a second, at most one second's worth at once; 0: no limit.
  explicit TokenBucket(double rate) : rate_(rate), burst_(std::max(rate, 1.0)), tokens_(burst_) {}

  // From now on; what was used counts.
  void set(double rate) {
    if (rate == rate_) return;
    burst_ = std::max(rate, 1.0);
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
  double rate_;
  double burst_;
  double tokens_;
  std::optional<BootTime> last_;
};

}  // namespace freshet
