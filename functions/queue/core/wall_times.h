// Wall times of tasks as the parts of the core keep them: milliseconds since 1970. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace freshet {

inline constexpr int64_t kNeverMs = std::numeric_limits<int64_t>::max();

// The time from `now` until `wall_ms`, but at most a day: the clock may be set, so the timer looks again.
inline nanoseconds due_in(int64_t wall_ms, WallTime now) {
  constexpr int64_t kDay = int64_t{24} * 3600 * 1000;
  const int64_t now_ms = epoch_ms(now);
  return milliseconds(wall_ms <= now_ms ? 0 : std::min(wall_ms, now_ms + kDay) - now_ms);
}

}  // namespace freshet
