// The limiter of a downstream, which refuses calls beyond its limit: a token bucket or a fixed window, drawn from a
// seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/random.h"

namespace freshet::sim {

class SimLimiter {
 public:
  explicit SimLimiter(uint64_t seed) {
    Random random(seed + 97);
    is_window_ = random.below(2) == 0;
    a_second_ = 10.0 + static_cast<double>(random.below(90));
    burst_ = 1.0 + static_cast<double>(random.below(20));
    window_ = milliseconds(random.below(2) == 0 ? 1'000 : 10'000);
    gives_wait_ = random.below(2) == 0;
  }

  bool allows(BootTime now) {
    if (is_window_) {
      const auto number = (now.time_since_epoch() / window_);
      if (number != number_) calls_ = 0;
      number_ = number;
      const double seconds = std::chrono::duration<double>(window_).count();
      return ++calls_ <= a_second_ * seconds;
    }
    const double passed = std::chrono::duration<double>(now - filled_).count();
    tokens_ = std::min(burst_, tokens_ + passed * a_second_);
    filled_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // True if refusals come with a Retry-After.
  bool gives_wait() const { return gives_wait_; }

 private:
  bool is_window_ = false;
  bool gives_wait_ = false;
  double a_second_ = 0;
  double burst_ = 0;
  milliseconds window_{1'000};
  int64_t number_ = -1;
  double calls_ = 0;
  double tokens_ = 0;
  BootTime filled_{};
};

}  // namespace freshet::sim
