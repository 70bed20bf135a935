// A wall clock that runs faster or slower than the clock since boot for a while. It is paid in whole milliseconds, as
// that clock shows no less, and never steps back for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace freshet::sim {

class Drift {
 public:
  // Up to 500 millionths, as a bad crystal has it, and now and then up to a twentieth; for up to five minutes.
  void begin(Random& random, BootTime now) {
    const auto most = random.below(8) == 0 ? 50'000u : 500u;
    millionths_ = 1 + static_cast<int64_t>(random.below(most));
    if (random.below(2) == 0) millionths_ = -millionths_;
    until_ = now + milliseconds(1'000 + static_cast<int64_t>(random.below(300'000)));
  }
  void end() { until_ = {}; }

  // That much time has passed until `now`. By how much the wall clock goes ahead for it; negative: falls back.
  milliseconds pass(BootTime now, nanoseconds time) {
    if (now >= until_) return milliseconds(0);
    owed_ += time.count() * millionths_;
    int64_t whole = owed_ / kMillisecond;
    // By no more than what has just passed.
    if (whole < 0) whole = -std::min<int64_t>(-whole, std::chrono::floor<milliseconds>(time).count());
    owed_ -= whole * kMillisecond;
    return milliseconds(whole);
  }

 private:
  static constexpr int64_t kMillisecond = 1'000'000'000'000;  // In millionths of nanoseconds.
  int64_t millionths_ = 0;
  int64_t owed_ = 0;
  BootTime until_{};
};

}  // namespace freshet::sim
