// ORDER=deadline: which of the tasks that wait is started next. Pure state with an explicit now.
//
// The most urgent task that has enough time left; where none has, the one with the most, unless waiting has cost it
// more than half of its chance to be done in time. That is earliest deadline first among the tasks that are not lost
// yet, which is the best order for deadlines of starts (Panwar, Towsley, Wolf 1988: shortest time to extinction; with
// deadlines of ends a slot may better stay idle: Bhattacharya, Ephremides 1989), but there "lost" is known.
//
// Here it is a matter of chance: "enough" is a quantile of the observed service times. A small one keeps many that are
// late in the end, a large one gives up many that would have been in time; which is right depends on load, slots and
// deadlines. So it moves: every task that is started with enough time is asked what waiting has cost it, that is, how
// much more likely it would have been in time had it not waited. The quantile rises while that is more than one in a
// hundred on average, and falls while it is less.
#pragma once

#include <algorithm>

#include "functions/queue/policy/service_time.h"

namespace freshet {

// How long a task had when it was created, and has now.
struct TimeLeft {
  nanoseconds at_first{0};
  nanoseconds now{0};
};

// Of `now`, whole milliseconds are known: half of one more counts as past. What is centuries ahead counts as a year.
inline TimeLeft time_left(WallTime created, WallTime deadline, WallTime now) {
  constexpr milliseconds kLongest{366LL * 24 * 3600 * 1000};
  constexpr std::chrono::microseconds kHalf{500};
  const nanoseconds left = std::clamp(deadline - now, -kLongest, kLongest) - kHalf;
  return {left + std::clamp(now - created, milliseconds(0), kLongest), left};
}

class Urgency {
 public:
  static constexpr double kMostCost = 0.01;  // Of waiting, on average: a task in a hundred late for it.
  static constexpr double kStep = 0.3;
  static constexpr double kLeast = 0.5;

  // Tasks whose deadline is not before that time have enough; `wall`, of which whole milliseconds are known, if too
  // little is known of service times.
  WallTime enough(ServiceTimes& times, WallTime wall, BootTime now) const {
    const nanoseconds needed = times.quantile(quantile_, now);
    return needed.count() > 0 ? wall + milliseconds(1) + std::chrono::ceil<milliseconds>(needed) : wall;
  }
  // Whether a task that has not enough time is worth a slot that has nothing better to do.
  static bool is_worth_it(const TimeLeft& left, ServiceTimes& times, BootTime now) {
    return 2 * times.share_within(left.now, now) >= times.share_within(left.at_first, now);
  }
  // A task is started that had enough time.
  void started(const TimeLeft& left, ServiceTimes& times, BootTime now) {
    const double cost = times.share_within(left.at_first, now) - times.share_within(left.now, now);
    quantile_ = std::clamp(quantile_ + kStep * (cost - kMostCost), kLeast, 1.0);
  }
  double quantile() const { return quantile_; }

 private:
  double quantile_ = 0.8;
};

}  // namespace freshet
