// ORDER=deadline: which of the tasks that wait is started next. Pure state with an explicit now.
//
// The most urgent task that has enough time left; where none has, the one with the most, unless waiting has cost it
// too much of its chance to be done in time. That is earliest deadline first among the tasks that are not lost yet,
// which is the best order for deadlines of starts (Panwar, Towsley, Wolf 1988: shortest time to extinction; with
// deadlines of ends a slot may better stay idle: Bhattacharya, Ephremides 1989), but there "lost" is known.
//
// Here it is a matter of chance: "enough" is a quantile of the observed service times. A small one keeps many that are
// late in the end, a large one gives up many that would have been in time; which is right depends on load, slots and
// deadlines. So it moves: every task that is started is asked what waiting has cost it, that is, how much more likely
// it would have been in time had it not waited. The quantile rises while that is more than kMostCost on average,
// and falls while it is less. Where the largest does not do, the slots leave tasks sooner that have lost some of their
// chance.
#pragma once

#include <algorithm>

#include "functions/queue/policy/service_time.h"

namespace freshet {

using FineTime = std::chrono::sys_time<nanoseconds>;

// Wall time is known in whole milliseconds, which are much where a task takes one. How far the current one has gone is
// reckoned by boot time, from the earliest that any was seen.
class FineWall {
 public:
  FineTime at(WallTime wall, BootTime boot) {
    // At least that much is the wall ahead of boot time, and less than a millisecond more.
    const nanoseconds least = wall.time_since_epoch() - boot.time_since_epoch();
    ahead_ = ahead_ >= least && ahead_ - least < milliseconds(1) ? ahead_ : least;
    return FineTime(boot.time_since_epoch() + ahead_);
  }

 private:
  nanoseconds ahead_{0};
};

// How long a task had when it was created, at least, and has now.
struct TimeLeft {
  nanoseconds at_first{0};
  nanoseconds now{0};
};

// A deadline that is centuries ahead counts as a year. `created` is in whole milliseconds: it was at the end of one, so
// that nobody is blamed for a chance that was not promised. While that one lasts, a task has more than it had at first.
inline TimeLeft time_left(WallTime created, WallTime deadline, FineTime now) {
  constexpr milliseconds kLongest{366LL * 24 * 3600 * 1000};
  const auto known = std::chrono::floor<milliseconds>(now);
  const nanoseconds left = std::clamp(deadline - known, -kLongest, kLongest) - (now - known);
  const nanoseconds waited = std::clamp(known - created, milliseconds(0), kLongest) + (now - known) - milliseconds(1);
  return {left + waited, left};
}

class Urgency {
 public:
  // The average cost of waiting: one task in a hundred is late for it, less a tenth that chance adds.
  static constexpr double kMostCost = 0.009;
  static constexpr double kStep = 0.3;
  static constexpr double kLeast = 0.5;
  static constexpr double kMost = 1.7;
  static constexpr double kChanceKept = 0.6;  // A share of the chance that a task had at first.

  // Tasks whose deadline is not before that time have enough; now's millisecond if too little is known of service
  // times.
  WallTime enough(const ServiceTimes& times, FineTime wall, BootTime now) const {
    const nanoseconds needed = times.quantile(quantile(), now);
    return needed.count() > 0 ? std::chrono::ceil<milliseconds>(wall + needed) : std::chrono::floor<milliseconds>(wall);
  }
  // True if a task that has not enough time is worth a slot that has nothing better to do.
  bool is_worth_it(const TimeLeft& left, const ServiceTimes& times, BootTime now) const {
    return times.share_within(left.now, now) >= chance_kept() * times.share_within(left.at_first, now);
  }
  // A task is started, had it enough time or not.
  void started(const TimeLeft& left, const ServiceTimes& times, BootTime now) {
    const double cost = times.share_within(left.at_first, now) - times.chance_within(left.now, now);
    strictness_ = std::clamp(strictness_ + kStep * (cost - kMostCost), kLeast, kMost);
  }
  double quantile() const { return std::min(strictness_, 1.0); }
  // 0.6 to 0.95.
  double chance_kept() const { return kChanceKept + (strictness_ - quantile()) / 2; }

 private:
  double strictness_ = 0.8;  // The quantile, and above 1 more of the chance.
};

}  // namespace freshet
