#include "functions/queue/policy/service_time.h"

#include <algorithm>
#include <cmath>

namespace freshet {

void ServiceTimes::add(nanoseconds took, BootTime now) {
  took = std::max(took, nanoseconds(0));
  samples_.push_back({now, took});
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), took), took);
  if (samples_.size() > kWindow) drop_first();
}

void ServiceTimes::drop_first() {
  sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), samples_.front().took));
  samples_.pop_front();
}

void ServiceTimes::forget(BootTime now) {
  while (!samples_.empty() && now - samples_.front().at > kKept) drop_first();
}

nanoseconds ServiceTimes::quantile(double share, BootTime now) {
  forget(now);
  if (sorted_.size() < kLeast) return nanoseconds(0);
  // What is a whole number but for rounding is meant to be one.
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted_.size()) - 1e-6));
  return sorted_[std::clamp<size_t>(rank, 1, sorted_.size()) - 1];
}

double ServiceTimes::share_within(nanoseconds time, BootTime now) {
  forget(now);
  if (sorted_.size() < kLeast) return 1;
  const auto within = std::upper_bound(sorted_.begin(), sorted_.end(), time) - sorted_.begin();
  return static_cast<double>(within) / static_cast<double>(sorted_.size());
}

}  // namespace freshet
