// Facts about its limit that a downstream sends with an answer, whether it accepted the call or refused it.
#pragma once

#include <optional>

#include "base/clock.h"

namespace freshet {

struct LimitHints {
  std::optional<milliseconds> retry_after;  // With a refusal: no calls for this time.
  std::optional<double> limit;              // Units
  std::optional<milliseconds> window;       // in that time,
  std::optional<double> remaining;          // of which so many are left,
  std::optional<milliseconds> reset;        // until all are there again.
  bool reset_is_time = false;  // `reset` was given as a time of day: it is off by what the clocks differ and by
                               // its rounding, always the same way.
  bool concurrent = false;     // `limit` and `remaining` count calls under way.
};

}  // namespace freshet
