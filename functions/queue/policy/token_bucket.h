// A rate limit as a token bucket with an explicit now. Pure state, no clock.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace freshet {

class TokenBucket {
 public:
  static constexpr double kAtOnce = 0.02;  // The default burst, in seconds of the rate.

  // `rate`: starts per second; 0: no limit. `burst`: the most starts at once; 0: kAtOnce of the rate, but at least one.
  explicit TokenBucket(double rate, double burst = 0) : rate_(rate), burst_(most(rate, burst)), tokens_(burst_) {}

  // Sets the limit; what was used still counts.
  void set(double rate, double burst = 0) {
    if (rate == rate_ && most(rate, burst) == burst_) return;
    burst_ = most(rate, burst);
    tokens_ = rate_ > 0 ? std::min(tokens_, burst_) : burst_;
    rate_ = rate;
  }
  // How many of `wanted` may start now.
  size_t available(BootTime now, size_t wanted) {
    if (rate_ <= 0) return wanted;
    fill(now);
    return std::min(wanted, static_cast<size_t>(std::max(0.0, tokens_ + 1e-9)));
  }
  // The tokens that are left; below 0: used ahead. Only with a rate.
  double tokens(BootTime now) {
    fill(now);
    return tokens_;
  }
  void use(double count) {
    if (rate_ > 0) tokens_ -= count;
  }
  // Nothing could start until now, whatever the rate. That time does not add to the burst: one task may start.
  void rest(BootTime now) {
    if (rate_ <= 0) return;
    fill(now);
    tokens_ = std::min(tokens_, 1.0);
  }
  // When the next one may start. Call it after available(), with the same `now`.
  BootTime next(BootTime now) const {
    if (rate_ <= 0 || tokens_ >= 1) return now;
    auto wait = std::min((1 - tokens_) / rate_, 3600.0);
    return now + std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(wait)) + nanoseconds(1);
  }

 private:
  static double most(double rate, double burst) { return burst > 0 ? burst : std::max(kAtOnce * rate, 1.0); }
  void fill(BootTime now) {
    if (last_) tokens_ = std::min(burst_, tokens_ + rate_ * std::chrono::duration<double>(now - *last_).count());
    last_ = now;
  }

  double rate_;
  double burst_;
  double tokens_;
  std::optional<BootTime> last_;
};

}  // namespace freshet
