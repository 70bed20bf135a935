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

void ServiceTimes::drop_first() const {
  sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), samples_.front().took));
  samples_.pop_front();
}

void ServiceTimes::forget(BootTime now) const {
  while (!samples_.empty() && now - samples_.front().at > kKept) drop_first();
}

nanoseconds ServiceTimes::quantile(double share, BootTime now) const {
  forget(now);
  if (sorted_.size() < kLeast) return nanoseconds(0);
  // A number that is whole but for rounding is meant to be whole.
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted_.size()) - 1e-6));
  return sorted_[std::clamp<size_t>(rank, 1, sorted_.size()) - 1];
}

double ServiceTimes::share_within(nanoseconds time, BootTime now) const {
  forget(now);
  if (sorted_.size() < kLeast) return 1;
  const auto within = std::upper_bound(sorted_.begin(), sorted_.end(), time) - sorted_.begin();
  return static_cast<double>(within) / static_cast<double>(sorted_.size());
}

double ServiceTimes::chance_within(nanoseconds time, BootTime now) const {
  forget(now);
  if (sorted_.size() < kLeast) return 1;
  const auto longer = std::upper_bound(sorted_.begin(), sorted_.end(), time);
  const nanoseconds below = longer == sorted_.begin() ? nanoseconds(0) : *(longer - 1);
  const nanoseconds above = longer == sorted_.end() ? 2 * below - sorted_[sorted_.size() - 2] : *longer;
  const double part = std::chrono::duration<double>(time - below) / std::chrono::duration<double>(above - below);
  const auto within = static_cast<double>(longer - sorted_.begin());
  return (within + (above > below ? std::clamp(part, 0.0, 1.0) : 1)) / static_cast<double>(sorted_.size() + 1);
}

}  // namespace freshet
