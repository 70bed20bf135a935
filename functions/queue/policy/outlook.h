// Estimates if a task that is created now can be done by its deadline, and if not, when to try again. Pure.
//
// All estimates are in the task's favour, so that no task is refused that a free slot would have done in time.
// - Newest first: the new task is next, so it waits for a free slot, but never behind the backlog, and no newer task is
//   assumed to come. `adaptive` is the same, as it goes newest first before a backlog causes long waits. So is
//   `deadline`, as if the task were the most urgent.
// - Oldest first: it waits until all tasks that wait now have left (with lanes: those of its own lane).
// - It does not wait while a take waits for work. It does not wait either if no task has left lately, because then
//   nothing is known.
// - Newest first: it does not wait if no task is in work.
// - Tasks of higher priority and of other groups are ignored.
// - Its service time is the 90th percentile with DEADLINE_MARGIN=p90 (it would be shed otherwise), else the 10th
//   percentile.
#pragma once

#include <algorithm>
#include <optional>

#include "functions/queue/policy/expiry.h"

namespace freshet {

struct Outlook {
  nanoseconds wait{0};     // The least time until its start. It falls as the queue gets shorter.
  nanoseconds service{0};  // The time from its start to its end.
};

// `ahead`: the number of tasks that start before it, for oldest first. `rate`: tasks that leave per second.
inline nanoseconds least_wait(bool newest_first, uint64_t ahead, bool slot_is_free, double rate) {
  if (slot_is_free || rate <= 0) return nanoseconds(0);
  const double before = newest_first ? 1 : static_cast<double>(ahead);
  constexpr double kLongest = 366.0 * 24 * 3600;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(std::min(before / rate, kLongest)));
}

// `from`: when the task may first be taken. Empty: it can be done in time. Otherwise the time after which a task with
// as much time left should have a chance, from 100 ms to a minute: when enough tasks have left, or, if that would not
// help, in a minute, when the observed service times have been forgotten.
inline std::optional<milliseconds> refused_as_late(const TaskEnds& ends, WallTime from, const Outlook& outlook) {
  constexpr milliseconds kLeast{100};
  constexpr milliseconds kLongest{60'000};
  std::optional<milliseconds> over;
  const auto look = [&](const std::optional<WallTime>& end, nanoseconds least) {
    if (!end) return;
    const milliseconds left = *end - from;  // In whole milliseconds: it may be centuries.
    const auto needed = std::chrono::floor<milliseconds>(least);
    if (left > needed) return;
    over = std::max(over.value_or(kLeast), needed - left + milliseconds(1));
  };
  look(ends.ttl, outlook.wait);
  look(ends.deadline, outlook.wait + outlook.service);
  if (!over) return std::nullopt;
  return *over <= outlook.wait ? std::min(*over, kLongest) : kLongest;
}

}  // namespace freshet
