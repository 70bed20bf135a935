// PRIORITY_AGING_S: which priority has the next turn, so that none starves. Pure state; the time is passed in.
//
// A priority that has tasks which may start counts as one step higher for each so many seconds since its last start, or
// since it began to wait if that is later. A start takes all steps back. Among priorities that count the same the one
// that has waited longest goes first. So one that is d steps below the others gets a start each d * S seconds while
// slots turn over, and those above it nearly all. Tasks do not age one by one: the order within a lane stays as it is,
// as oldest first would be what a flooded queue must not do.
#pragma once

#include <algorithm>
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
  // policy/lanes.h), the highest first; not empty. `started`: true for those of which this take has chosen a task.
  std::string_view next(const std::vector<std::string_view>& waiting, nanoseconds step, BootTime now,
                        const std::function<bool(std::string_view)>& started = {}) {
    std::erase_if(since_,
                  [&](const auto& one) { return !std::binary_search(waiting.begin(), waiting.end(), one.first); });
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

  // A task of that priority was started.
  void served(std::string_view level, BootTime now) {
    if (const auto it = since_.find(level); it != since_.end()) it->second = now;
  }

  // All priorities begin to wait anew.
  void forget() { since_.clear(); }

  // How many steps a priority counts as higher; 0 if it does not wait.
  int64_t steps(std::string_view level, nanoseconds step, BootTime now) const {
    const auto it = since_.find(level);
    return it == since_.end() ? 0 : (now - it->second) / step;
  }

 private:
  // 100 - priority: the least first.
  static int64_t number_of(std::string_view level) {
    int64_t out = 0;
    for (const char digit : level) out = out * 10 + (digit - '0');
    return out;
  }

  std::map<std::string, BootTime, std::less<>> since_;  // By level: the last start, or when it began to wait.
};

}  // namespace freshet
