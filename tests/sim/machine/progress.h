// Detects a daemon that works all the time although its clients rest, and so makes no progress.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace freshet::sim {

class Progress {
 public:
  void life_begins(BootTime now) {
    window_began_ = now;
    turns_ = works_before_ = 0;
  }
  // A turn of the loop is over. `works`: the number of works that the loop has run in this life. Returns false if the
  // daemon spins. A turn runs up to two thousand works (LoopOptions::max_steps) at one moment of simulated time, so
  // works are counted as well.
  bool made(BootTime now, uint64_t works) {
    if (now - window_began_ > kWindow) {
      window_began_ = now;
      turns_ = 0;
      works_before_ = works;
    }
    return ++turns_ < kMostTurns && works - works_before_ < kMostWorks;
  }

 private:
  // A turn takes 20 us on average.
  static constexpr seconds kWindow{2};
  static constexpr uint64_t kMostTurns = 40'000;
  static constexpr uint64_t kMostWorks = 1'000'000;

  BootTime window_began_{};
  uint64_t turns_ = 0;
  uint64_t works_before_ = 0;
};

}  // namespace freshet::sim
