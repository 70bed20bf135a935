// How fast hopeless tasks are shed: in steps, so that other work gets its turn between them. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace freshet {

struct ShedPace {
  static constexpr uint32_t kStep = 64;  // The most tasks shed together while nobody waits for the disk.
  // While others wait for the disk, a step lasts kLull, which is as long as most syncs. It looks at the time after each
  // kTogether tasks. Once tasks are shed more than kLate too late, it lasts kLongLull, and others wait a little for it.
  static constexpr std::chrono::microseconds kLull{250};
  static constexpr milliseconds kLongLull{1};
  static constexpr milliseconds kLate{25};
  static constexpr size_t kTogether = 16;
  // After a step that shed kMany tasks, the next step waits until others wait for the disk, but no longer than
  // kPatience, as there may be no others.
  static constexpr size_t kMany = 8;
  static constexpr milliseconds kPatience{2};
  // The least time between two steps if no hopeless task is left. In this time enough tasks become hopeless to shed
  // them cheaply together.
  static constexpr milliseconds kSettled{2};
  static constexpr std::chrono::microseconds kShortest{500};
  static constexpr milliseconds kLongest{20};

  // How long a step lasts while others wait, if its first task has been hopeless for `late`.
  static constexpr nanoseconds lull(milliseconds late) { return late > kLate ? nanoseconds(kLongLull) : kLull; }

  // The pause after a step that took `took`, if there is more to shed and nobody waited for the disk. So sheds use at
  // most two fifths of the time. The less other work there is, the sooner a burst is gone, as other work delays the
  // next step and makes it slower.
  static constexpr nanoseconds rest(nanoseconds took) {
    return std::clamp<nanoseconds>(took + took / 2, kShortest, kLongest);
  }
};

}  // namespace freshet
