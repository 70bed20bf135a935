// PRIORITY_AGING_S: which priority has the next turn, so that none starves. Pure state; the time is passed in.
//
// A priority counts as one step higher for every PRIORITY_AGING_S seconds since its last start, or since a take first
// met it. A start takes all its steps back. Among priorities that count as equal, the one whose start is longest ago
// goes first. So a priority that is d steps below the others gets one start every d * S seconds while slots turn over;
// those above it get nearly all other starts. Steps are kept while the tasks of a priority may not start, for example
// because their group is at its limit. Otherwise a priority would starve whose groups are often at their limits. Single
// tasks do not age, so the order within a lane stays the same. Otherwise the oldest tasks would go first, which is
// wrong for an overloaded queue.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace freshet {

class LaneAging {
 public:
  // The priority whose turn it is. `waiting`: those that have tasks which may start, as levels of lanes ("PPP" of
  // policy/lanes.h), the highest first; not empty. `started` returns true for a level of which this take has already
  // chosen a task, so that it counts as started now.
  std::string_view next(const std::vector<std::string_view>& waiting, nanoseconds step, BootTime now,
                        const std::function<bool(std::string_view)>& started = {}) {
    std::string_view first;
    int64_t first_counts = 0;
    BootTime first_since{};
    for (const auto level : waiting) {
      auto since = since_.try_emplace(std::string(level), now).first->second;
      if (started && started(level)) since = now;
      const int64_t counts = number_of(level) - (now - since) / step;
      if (!first.empty() && (counts > first_counts || (counts == first_counts && since >= first_since))) continue;
      first = level;
      first_counts = counts;
      first_since = since;
    }
    return first;
  }

  // A task of that priority was started, or ended instead of it.
  void served(std::string_view level, BootTime now) {
    if (const auto it = since_.find(level); it != since_.end()) it->second = now;
  }

  // All priorities begin to wait anew.
  void forget() { since_.clear(); }

  // How many steps a priority counts as higher; 0 if no take has met it.
  int64_t steps(std::string_view level, nanoseconds step, BootTime now) const {
    const auto it = since_.find(level);
    return it == since_.end() ? 0 : (now - it->second) / step;
  }

 private:
  // 100 - priority: the smallest number is the highest priority.
  static int64_t number_of(std::string_view level) {
    int64_t out = 0;
    for (const char digit : level) out = out * 10 + (digit - '0');
    return out;
  }

  std::map<std::string, BootTime, std::less<>> since_;  // By level: the last start, or when a take first met it.
};

}  // namespace freshet
