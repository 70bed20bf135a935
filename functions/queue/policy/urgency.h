// ORDER=deadline: which waiting task is started next. Pure state with an explicit now.
//
// The most urgent task that has enough time left is next. If none has, it is the one with the most time left, unless
// waiting has cost it too much of its chance to be done in time. That is earliest deadline first among the tasks that
// are not lost yet. For deadlines of starts this is the best order (Panwar, Towsley, Wolf 1988: shortest time to
// extinction). For deadlines of ends it may be better to leave a slot idle (Bhattacharya, Ephremides 1989). Both papers
// know which tasks are lost.
//
// Here that is uncertain: "enough" is a quantile of the observed service times. A small quantile keeps many tasks that
// are late in the end; a large one gives up many that would have been in time. The best one depends on load, slots and
// deadlines, so it adapts. The cost of waiting is computed for every task that is started: how much more likely it
// would have been in time had it not waited. The quantile rises while this is more than kMostCost on average, and falls
// while it is less. If even the largest quantile is not enough, tasks that have lost some of their chance are given up
// sooner.
#pragma once

#include <algorithm>

#include "functions/queue/policy/service_time.h"

namespace freshet {

using FineTime = std::chrono::sys_time<nanoseconds>;

// Wall time is in whole milliseconds, which is coarse for tasks that take one. The fraction is computed from boot time,
// counted from the earliest moment at which a millisecond was seen.
class FineWall {
 public:
  FineTime at(WallTime wall, BootTime boot) {
    // Wall time is ahead of boot time by at least that much, and by less than a millisecond more.
    const nanoseconds least = wall.time_since_epoch() - boot.time_since_epoch();
    ahead_ = ahead_ >= least && ahead_ - least < milliseconds(1) ? ahead_ : least;
    return FineTime(boot.time_since_epoch() + ahead_);
  }

 private:
  nanoseconds ahead_{0};
};

// The least time until its deadline that a task had at its creation, and what it has now.
struct TimeLeft {
  nanoseconds at_first{0};
  nanoseconds now{0};
};

// A deadline that is centuries ahead counts as a year. `created` is in whole milliseconds and is taken to be at the end
// of its millisecond, so that the initial time is not overestimated. During that millisecond, a task has more time than
// at first.
inline TimeLeft time_left(WallTime created, WallTime deadline, FineTime now) {
  constexpr milliseconds kLongest{366LL * 24 * 3600 * 1000};
  const auto known = std::chrono::floor<milliseconds>(now);
  const nanoseconds left = std::clamp(deadline - known, -kLongest, kLongest) - (now - known);
  const nanoseconds waited = std::clamp(known - created, milliseconds(0), kLongest) + (now - known) - milliseconds(1);
  return {left + waited, left};
}

class Urgency {
 public:
  // The accepted average cost of waiting: one task in a hundred is late because of it, less a tenth that chance adds.
  static constexpr double kMostCost = 0.009;
  static constexpr double kStep = 0.3;
  static constexpr double kLeast = 0.5;
  static constexpr double kMost = 1.7;
  static constexpr double kChanceKept = 0.6;  // A share of the chance that a task had at first.

  // A task whose deadline is at this time or later has enough time. The current millisecond, if too little is known of
  // service times.
  WallTime enough(const ServiceTimes& times, FineTime wall, BootTime now) const {
    const nanoseconds needed = times.quantile(quantile(), now);
    return needed.count() > 0 ? std::chrono::ceil<milliseconds>(wall + needed) : std::chrono::floor<milliseconds>(wall);
  }
  // True if a task without enough time left may still use a slot that no other task needs.
  bool is_worth_it(const TimeLeft& left, const ServiceTimes& times, BootTime now) const {
    return times.share_within(left.now, now) >= chance_kept() * times.share_within(left.at_first, now);
  }
  // A task is started, whether it has enough time or not.
  void started(const TimeLeft& left, const ServiceTimes& times, BootTime now) {
    const double cost = times.share_within(left.at_first, now) - times.chance_within(left.now, now);
    strictness_ = std::clamp(strictness_ + kStep * (cost - kMostCost), kLeast, kMost);
  }
  double quantile() const { return std::min(strictness_, 1.0); }
  // 0.6 to 0.95.
  double chance_kept() const { return kChanceKept + (strictness_ - quantile()) / 2; }

 private:
  double strictness_ = 0.8;  // The quantile, up to 1. Beyond 1 it raises chance_kept() instead.
};

}  // namespace freshet
