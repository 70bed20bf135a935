// A wall clock that runs faster or slower than the boot clock for a while. It changes by whole milliseconds, its unit,
// and never steps back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace freshet::sim {

class Drift {
 public:
  // Begins a drift of up to 500 millionths, as with a bad crystal, or in one of eight cases of up to a twentieth. It
  // lasts up to five minutes.
  void begin(Random& random, BootTime now) {
    const auto most = random.below(8) == 0 ? 50'000u : 500u;
    millionths_ = 1 + static_cast<int64_t>(random.below(most));
    if (random.below(2) == 0) millionths_ = -millionths_;
    until_ = now + milliseconds(1'000 + static_cast<int64_t>(random.below(300'000)));
  }
  void end() { until_ = {}; }

  // `time` has passed until `now`. Returns how much further than that the wall clock has moved; negative: how much
  // less.
  milliseconds pass(BootTime now, nanoseconds time) {
    if (now >= until_) return milliseconds(0);
    owed_ += time.count() * millionths_;
    int64_t whole = owed_ / kMillisecond;
    // The wall clock loses no more time than has just passed.
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
