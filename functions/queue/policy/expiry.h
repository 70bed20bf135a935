// Decides when a task is stale. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "tables/value/item_ref.h"

namespace freshet {

// When a task's `ttl` passes, and the unit it is written in. Empty if it has none, or if the value can only be in
// milliseconds although the table's ttl is in seconds: such a ttl never passes.
struct TtlEnd {
  WallTime at;
  bool in_milliseconds;
};
std::optional<TtlEnd> ttl_end(const ItemRef& task, bool ttl_in_milliseconds);

// The latest times at which a task is worth starting.
struct TaskEnds {
  std::optional<WallTime> ttl;
  std::optional<WallTime> deadline;
};

// The error if that deadline, in epoch milliseconds, is so early that it must be a mistake: "its deadline is
// 1764000000, which is 1970-01-21 in milliseconds since 1970; ..." with what to write. Empty if it may be meant.
std::string early_deadline(int64_t deadline_ms);

// The error for a deadline that is not after `now_ms`: both times, by how much the deadline has passed, and what to
// write instead.
std::string passed_deadline(int64_t deadline_ms, int64_t now_ms);

// When the ttl of a task passes that is created now with that time to live. It is stored in whole seconds, rounded up.
inline WallTime stored_ttl(WallTime now, milliseconds ttl) {
  return WallTime(seconds(epoch_s(now + ttl + milliseconds(999))));
}

// Why a task must not be started any more at `now`: "ttl", "deadline", or "deadline-margin" (it would not be done by
// its deadline if it took `margin`); empty if it may be. `now` is in whole milliseconds. With a margin, half a
// millisecond more counts as past.
std::string_view expired(const TaskEnds& ends, WallTime now, nanoseconds margin = nanoseconds(0));
std::string_view expired(const ItemRef& task, WallTime now, bool ttl_in_milliseconds,
                         nanoseconds margin = nanoseconds(0));

}  // namespace freshet
