// Facts about its limit that a downstream sends with an answer, whether it accepted the call or refused it.
#pragma once

#include <optional>

#include "base/clock.h"

namespace freshet {

struct LimitHints {
  std::optional<milliseconds> retry_after;  // With a refusal: no calls for this time.
  std::optional<double> limit;              // The units that may start in `window`.
  std::optional<milliseconds> window;       // The time for which `limit` counts.
  std::optional<double> remaining;          // The units of `limit` that are left.
  std::optional<milliseconds> reset;        // The time until all of `limit` is available again.
  bool reset_is_time = false;  // `reset` was given as a time of day. It is off by the difference of the clocks and by
                               // rounding, always in the same direction.
  bool concurrent = false;     // `limit` and `remaining` count calls under way.
};

}  // namespace freshet
