#include "functions/queue/policy/codel.h"

#include <cmath>

namespace freshet {

bool Codel::above_for_an_interval(nanoseconds age, bool last, BootTime now) {
  if (age < kTarget || last) {
    first_above_.reset();
    return false;
  }
  if (!first_above_) {
    first_above_ = now + kInterval;
    return false;
  }
  return now >= *first_above_;
}

BootTime Codel::control_law(BootTime from) const {
  const auto interval = static_cast<double>(nanoseconds(kInterval).count());
  return from + nanoseconds(static_cast<int64_t>(interval / std::sqrt(static_cast<double>(count_))));
}

bool Codel::drop(nanoseconds age, bool last, BootTime now) {
  const bool above = above_for_an_interval(age, last, now);
  if (!above) {
    dropping_ = false;
    return false;
  }
  if (dropping_) {
    if (now < next_drop_) return false;
    ++count_;
    next_drop_ = control_law(next_drop_);
    return true;
  }
  dropping_ = true;
  // If the last dropping was not long ago, it continues near that pace.
  const uint32_t delta = count_ - last_count_;
  const bool recent = now - next_drop_ < 16 * nanoseconds(kInterval);
  count_ = delta > 1 && recent ? delta : 1;
  last_count_ = count_;
  next_drop_ = control_law(now);
  return true;
}

}  // namespace freshet
