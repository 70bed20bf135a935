#include "functions/queue/policy/backoff.h"

#include <algorithm>
#include <cmath>

namespace freshet {

milliseconds backoff_delay(const BackoffSettings& settings, int attempt, double unit) {
  double full = static_cast<double>(settings.base.count()) * std::pow(settings.factor, std::max(attempt, 1) - 1);
  full = std::min(full, static_cast<double>(settings.max.count()));  // Infinity included.
  return milliseconds(static_cast<int64_t>(full * (1 - settings.jitter * unit)));
}

}  // namespace freshet
