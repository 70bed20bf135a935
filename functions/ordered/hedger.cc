#include "functions/ordered/hedger.h"

#include <algorithm>
#include <cmath>

namespace freshet::ordered {

std::optional<nanoseconds> Hedger::delay() const {
  const auto p95 = latency_.p95();
  if (!p95) return std::nullopt;
  return std::max(*p95, settings_.least_delay);
}

bool Hedger::may_hedge() const {
  // Twice in a row is always fine, so that few calls can be hedged too.
  return static_cast<double>(counts_.hedges) < settings_.most_share * static_cast<double>(counts_.calls) + 2;
}

nanoseconds Hedger::wait_before(int attempt) {
  const double full = static_cast<double>(settings_.backoff.count()) * std::pow(2.0, attempt - 1);
  const double most = static_cast<double>(settings_.most_backoff.count());
  return milliseconds(std::llround(std::min(full, most) * (1 - random_.unit() / 2)));
}

}  // namespace freshet::ordered
