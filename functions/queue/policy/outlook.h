// Says whether a task that is created now can still be done by its deadline, as far as the queue can tell, and if not,
// when to try again. Pure.
//
// Everything is reckoned in the task's favour, so that none is refused that a free slot would have done in time.
// - Newest first, a fresh task is the next one: it waits for a slot to become free, never behind the backlog; as if no
//   newer task would come. `adaptive` is the same: it goes newest first before a backlog makes anybody wait for long;
//   and `deadline`, as if the task were the most urgent.
// - Oldest first, it waits until all that wait now have left (of a queue with lanes: those of its own lane).
// - It does not wait while somebody waits for work. Nor does it if nothing has left of late: then nothing is known.
// - Newest first, it does not wait if nothing is in work.
// - Tasks of higher priority and of other groups are not reckoned with.
// - Then it takes as long as nine of ten tasks took at most (with DEADLINE_MARGIN=p90, as it would be shed otherwise),
//   else as one of ten took at most.
#pragma once

#include <algorithm>
#include <optional>

#include "functions/queue/policy/expiry.h"

namespace freshet {

struct Outlook {
  nanoseconds wait{0};     // Until it is started, at least. Gets less when the queue does.
  nanoseconds service{0};  // From then on.
};

// `ahead`: tasks that are started before it when it goes oldest first. `rate`: how many leave a second.
inline nanoseconds least_wait(bool newest_first, uint64_t ahead, bool slot_is_free, double rate) {
  if (slot_is_free || rate <= 0) return nanoseconds(0);
  const double before = newest_first ? 1 : static_cast<double>(ahead);
  constexpr double kLongest = 366.0 * 24 * 3600;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(std::min(before / rate, kLongest)));
}

// `from`: when the task may first be taken. Empty: its ends can be met. Else when one with as much time should have a
// chance: when enough have left, or, where that would not help, in a minute, when what is known of service times has
// been forgotten. From 100 ms to a minute.
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
