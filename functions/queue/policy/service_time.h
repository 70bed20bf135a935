// Observed service times of tasks: percentiles over a window of successes. Pure state with an explicit now.
//
// The window is bounded by number and by age. If all tasks of a backlog are judged too late, nothing new is observed.
// Then old observations are forgotten, so that the next task is tried again.
#pragma once

#include <deque>
#include <vector>

#include "base/clock.h"

namespace freshet {

class ServiceTimes {
 public:
  static constexpr size_t kWindow = 512;
  static constexpr size_t kLeast = 10;  // With fewer samples, too little is known.
  static constexpr milliseconds kKept{60'000};

  void add(nanoseconds took, BootTime now);
  // 0 while too little is known.
  nanoseconds p90(BootTime now) const { return quantile(0.9, now); }
  nanoseconds p10(BootTime now) const { return quantile(0.1, now); }
  // The time within which `share` (0 to 1) of the tasks ended. 0 counts as 1 / kWindow.
  nanoseconds quantile(double share, BootTime now) const;
  // The share of the tasks that took `time` at most; 1 while too little is known.
  double share_within(nanoseconds time, BootTime now) const;
  // The chance that the next task takes at most `time`, when `time` was chosen by these observations. For the k-th
  // shortest of n it is k / (n + 1), not k / n: a task that is started as soon as it fits the longest is late once in n
  // + 1. It is interpolated between two observations, and beyond the longest one by its distance to the one before. 1
  // while too little is known.
  double chance_within(nanoseconds time, BootTime now) const;

 private:
  struct Sample {
    BootTime at;
    nanoseconds took;
  };
  void forget(BootTime now) const;
  void drop_first() const;

  // Questions drop samples that are too old. No answer changes by that: such a sample counts at no later time either.
  mutable std::deque<Sample> samples_;       // Oldest first.
  mutable std::vector<nanoseconds> sorted_;  // The times of those samples, ascending.
};

}  // namespace freshet
