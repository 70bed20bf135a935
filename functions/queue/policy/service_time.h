// How long tasks take, as observed: the 90th percentile of a window of successes. Pure state with an explicit now.
//
// The window is bounded by number, and by age: when a backlog of tasks that are judged too late to be done leaves
// nothing to observe, what was observed is forgotten, and the next task is tried again.
#pragma once

#include <deque>
#include <optional>

#include "base/clock.h"

namespace freshet {

class ServiceTimes {
 public:
  static constexpr size_t kWindow = 256;
  static constexpr size_t kLeast = 10;  // With fewer nothing is said.
  static constexpr milliseconds kKept{60'000};

  void add(nanoseconds took, BootTime now);
  // 0 while too little is known.
  nanoseconds p90(BootTime now);

 private:
  struct Sample {
    BootTime at;
    nanoseconds took;
  };
  void forget(BootTime now);

  std::deque<Sample> samples_;      // Oldest first.
  std::optional<nanoseconds> p90_;  // Of samples_, once it was asked for.
};

}  // namespace freshet
