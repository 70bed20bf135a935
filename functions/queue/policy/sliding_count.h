// Learns if a downstream limits the number of calls in any ten seconds (a sliding window), and to how many. Such a
// limiter refuses whenever the same number was accepted in the last ten seconds, however these calls were spread. Part
// of adaptive_rate.h. Pure state with an explicit now; times never go back.
//
// Accepted calls are counted in parts of a sixtieth of the window, so that a count is wrong by less than one part's
// share. Two refusals at the same count, at least half a second apart, are taken as proof. Calls that are accepted
// beyond that count, or a refusal at another count, refute it. If another kind of limiter is mistaken for such a
// window, nothing is lost while its limit stays: it accepts no more on average.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/clock.h"

namespace freshet {

class SlidingCount {
 public:
  static constexpr double kLength = 10;  // Seconds.

  // Notes that units were started. Below 0: that many of them were refused.
  void add(BootTime now, double units) {
    pass(now);
    parts_[place(part_)] += static_cast<float>(units);
    if (units > 0 && full_ > 0 && count(now) > full_ + std::max(kSlack, kNear * full_) + 1) forget();
  }
  // A call was refused, and is not counted. `first`: something was accepted since the last refusal.
  void refused(BootTime now, bool first, double rate) {
    const double here = count(now);
    const bool same = full_ > 0 && std::abs(here - full_) <= std::max(kSlack, kNear * full_);
    if (!same) {
      full_ = here;
      known_ = false;
    } else if (first && now > refused_at_ + milliseconds(500)) {
      full_ = (full_ + here) / 2;
      known_ = known_ || (full_ >= kLeast && std::abs(rate - rate_) > kOther * rate);
    }
    refused_at_ = now;
    rate_ = rate;
  }
  void forget() {
    full_ = 0;
    known_ = false;
  }

  bool known() const { return known_; }
  // The limit in units per second. This and most() are valid only if known().
  double limit() const { return full_ / kLength; }
  double most() const { return full_; }
  // Units of the last ten seconds.
  double count(BootTime now) const {
    const int64_t part = part_of(now);
    double sum = 0;
    for (int64_t i = std::max(part - kParts + 1, part_ - kKept + 1); i <= std::min(part, part_); ++i) {
      sum += parts_[place(i)];
    }
    const int64_t oldest = part - kParts;
    const double left = 1 - static_cast<double>(now.time_since_epoch() % kPart / nanoseconds(1)) / kPart.count();
    return sum + (oldest > part_ - kKept && oldest <= part_ ? left * parts_[place(oldest)] : 0);
  }

 private:
  static constexpr int64_t kParts = 62;  // The parts of the window.
  static constexpr int64_t kKept = 64;   // The parts that are kept: a few more.
  static constexpr nanoseconds kPart{static_cast<int64_t>(kLength * 1e9) / kParts};
  static constexpr double kNear = 0.012;
  static constexpr double kSlack = 1.5;
  static constexpr double kOther = 0.08;
  static constexpr double kLeast = 30;  // Smaller counts may be equal by chance.

  static int64_t part_of(BootTime now) { return now.time_since_epoch() / kPart; }
  // Also right for a part before the machine's start, whose number is below 0.
  static size_t place(int64_t part) { return static_cast<size_t>(part) % kKept; }
  void pass(BootTime now) {
    const int64_t part = part_of(now);
    for (int64_t i = std::max(part_ + 1, part - kKept + 1); i <= part; ++i) parts_[place(i)] = 0;
    part_ = std::max(part_, part);
  }

  std::array<float, kKept> parts_{};
  int64_t part_ = 0;
  double full_ = 0;  // The count at the last refusals; 0: none is known.
  bool known_ = false;
  BootTime refused_at_{};
  double rate_ = 0;  // The rate at the last refusal.
};

}  // namespace freshet
