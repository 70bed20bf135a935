// How long tasks take, as observed: percentiles of a window of successes. Pure state with an explicit now.
//
// The window is bounded by number, and by age: when a backlog of tasks that are judged too late to be done leaves
// nothing to observe, what was observed is forgotten, and the next task is tried again.
#pragma once

#include <deque>
#include <vector>

#include "base/clock.h"

namespace freshet {

class ServiceTimes {
 public:
  static constexpr size_t kWindow = 512;
  static constexpr size_t kLeast = 10;  // With fewer nothing is said.
  static constexpr milliseconds kKept{60'000};

  void add(nanoseconds took, BootTime now);
  // 0 while too little is known.
  nanoseconds p90(BootTime now) const { return quantile(0.9, now); }
  nanoseconds p10(BootTime now) const { return quantile(0.1, now); }
  // `share` of the tasks took that long at most. From 0 to 1; 0 as 1 / kWindow.
  nanoseconds quantile(double share, BootTime now) const;
  // The share of the tasks that took `time` at most; 1 while too little is known.
  double share_within(nanoseconds time, BootTime now) const;
  // The chance that the next one takes `time` at most, where `time` was chosen by what was seen. The k-th shortest of n
  // has k of n + 1, not of n: whoever starts a task as soon as it fits the longest is late once in n + 1. Between two
  // of them in proportion, and so beyond the longest, as far as that is from the one before. 1 while too little is
  // known.
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
  mutable std::vector<nanoseconds> sorted_;  // How long those took.
};

}  // namespace freshet
