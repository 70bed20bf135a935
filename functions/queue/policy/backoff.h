// How long a task waits before its next attempt. Pure.
#pragma once

#include "functions/settings.h"

namespace freshet {

// The delay after `attempt` claims (>= 1) have failed. `unit` is uniform in [0, 1). Never above settings.max; between
// (1 - jitter) and 1 times base * factor^(attempt - 1).
milliseconds backoff_delay(const BackoffSettings& settings, int attempt, double unit);

}  // namespace freshet
