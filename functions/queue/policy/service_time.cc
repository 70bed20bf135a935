#include "functions/queue/policy/service_time.h"

#include <algorithm>
#include <vector>

namespace freshet {

void ServiceTimes::add(nanoseconds took, BootTime now) {
  samples_.push_back({now, std::max(took, nanoseconds(0))});
  if (samples_.size() > kWindow) samples_.pop_front();
  p90_.reset();
  p10_.reset();
}

void ServiceTimes::forget(BootTime now) {
  while (!samples_.empty() && now - samples_.front().at > kKept) {
    samples_.pop_front();
    p90_.reset();
    p10_.reset();
  }
}

nanoseconds ServiceTimes::quantile(Known& known, size_t tenths, BootTime now) {
  forget(now);
  if (samples_.size() < kLeast) return nanoseconds(0);
  if (known) return *known;
  std::vector<nanoseconds> times;
  times.reserve(samples_.size());
  for (const auto& sample : samples_) times.push_back(sample.took);
  const size_t rank = (times.size() * tenths + 9) / 10 - 1;
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(rank), times.end());
  known = times[rank];
  return *known;
}

}  // namespace freshet
