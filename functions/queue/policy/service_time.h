// How long tasks take, as observed: percentiles of a window of successes. Pure state with an explicit now.
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
  nanoseconds p90(BootTime now) { return quantile(p90_, 9, now); }
  nanoseconds p10(BootTime now) { return quantile(p10_, 1, now); }

 private:
  struct Sample {
    BootTime at;
    nanoseconds took;
  };
  using Known = std::optional<nanoseconds>;
  void forget(BootTime now);
  nanoseconds quantile(Known& known, size_t tenths, BootTime now);

  std::deque<Sample> samples_;  // Oldest first.
  Known p90_;                   // Of samples_, once it was asked for.
  Known p10_;
};

}  // namespace freshet
