// How fast what is hopeless is shed: in steps, so that others get their turn between them. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace freshet {

struct ShedPace {
  static constexpr uint32_t kStep = 256;  // Tasks at most.
  // Where a step has got to those that have time left. As many become hopeless meanwhile as are cheap to shed together.
  static constexpr milliseconds kSettled{6};
  static constexpr std::chrono::microseconds kShortest{500};
  static constexpr milliseconds kLongest{20};

  // How long to wait after a step that took so long, with more to shed: sheds have two fifths of the time at most, the
  // rest is everybody else's. So a burst is gone the sooner the less others there is to do: other work that comes
  // between makes the next step late, and slower.
  static constexpr nanoseconds rest(nanoseconds took) {
    return std::clamp<nanoseconds>(took + took / 2, kShortest, kLongest);
  }
};

}  // namespace freshet
