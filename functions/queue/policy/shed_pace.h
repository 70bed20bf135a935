// How fast hopeless tasks are shed: in steps, so that other work gets its turn between them. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace freshet {

struct ShedPace {
  static constexpr uint32_t kStep = 64;  // Tasks at most, if others do not wait meanwhile.
  // While they do, a step lasts as long as most syncs, or a few more tasks: it looks after so many. Where that does not
  // keep up, others wait a little for it.
  static constexpr std::chrono::microseconds kLull{250};
  static constexpr milliseconds kLongLull{1};
  static constexpr milliseconds kLate{25};
  static constexpr size_t kTogether = 16;
  // After a step of so many the next one waits for a time when others wait for the disk anyway, but no longer than
  // kPatience: there may be no others.
  static constexpr size_t kMany = 8;
  static constexpr milliseconds kPatience{2};
  // Where a step has got to those that have time left. As many become hopeless meanwhile as are cheap to shed together.
  static constexpr milliseconds kSettled{2};
  static constexpr std::chrono::microseconds kShortest{500};
  static constexpr milliseconds kLongest{20};

  // How long a step lasts while others wait, if the first task has been hopeless for so long.
  static constexpr nanoseconds lull(milliseconds late) { return late > kLate ? nanoseconds(kLongLull) : kLull; }

  // How long to wait after a step that took so long, with more to shed, if it was not at a time when others waited:
  // sheds have two fifths of the time at most, the rest is everybody else's. So a burst is gone the sooner the less
  // others there is to do: other work that comes between makes the next step late, and slower.
  static constexpr nanoseconds rest(nanoseconds took) {
    return std::clamp<nanoseconds>(took + took / 2, kShortest, kLongest);
  }
};

}  // namespace freshet
