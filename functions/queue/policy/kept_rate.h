// Decides when a learnt limit is stored, so that it need not be learnt again after a restart: rarely, and only when it
// has changed. Pure state with an explicit now. shell/learnt_limits.cc keeps it in the system table.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace freshet {

struct LearntLimit {
  double rate = 0;           // Units per second; > 0.
  uint64_t concurrency = 0;  // Calls in flight; 0: no such limit was learnt.
  double highest = 0;        // The highest recently confirmed limit, in units per second; 0: none.
};

// True if a limit moved by at least a twentieth. A smaller change is not worth a write.
inline bool moved(const LearntLimit& from, const LearntLimit& to) {
  constexpr double kMoved = 1.0 / 20;
  const auto far = [](double one, double other) { return std::abs(other - one) > kMoved * one; };
  return far(from.rate, to.rate) || to.concurrency != from.concurrency || far(from.highest, to.highest);
}

class KeptRate {
 public:
  static constexpr seconds kEach{5};  // At most one write in that time.

  // The value that was written last, or read at the start.
  void kept(const LearntLimit& limit) { last_ = limit; }
  // The last write failed: nothing is known of what is stored.
  void lost() { last_.reset(); }
  bool has_moved(const LearntLimit& limit) const { return !last_ || moved(*last_, limit); }
  // There is nothing to look at before this time.
  BootTime next_look() const { return next_look_; }
  void looked(BootTime now) { next_look_ = now + kEach; }

 private:
  std::optional<LearntLimit> last_;
  BootTime next_look_{};
};

}  // namespace freshet
