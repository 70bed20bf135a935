// The state that a task moves to when its claim ends without success. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "functions/settings.h"
#include "tables/value/item_ref.h"

namespace freshet {

struct Outcome {
  std::string_view to;         // A state.
  milliseconds delay{0};       // For DELAYED: not before now + delay.
  bool give_back = false;      // The attempt does not count.
  bool failed = false;         // Leaves an entry in the history.
  bool unless_beaten = false;  // Only if no heartbeat has come since the task was read.
  // For CANCELLED because a newer task of the key replaces this one: the state to use instead if no such task exists
  // any more. Empty: not that case.
  std::string_view if_not_replaced = {};
  bool lives_on = false;  // No newer task is left: removes the mark.
};

// The number of claims that the task may have.
int attempts_allowed(const ItemRef& task, const QueueSettings& settings);

// The work failed, crashed or timed out, or the lease ended. `delay` overrides the backoff; `unit` is uniform in [0,
// 1).
Outcome after_failure(const ItemRef& task, const QueueSettings& settings, bool final, std::optional<milliseconds> delay,
                      double unit);
// The holder had no capacity for the task.
Outcome after_release(const ItemRef& task, std::optional<milliseconds> delay);
// The holder died with an earlier incarnation of this daemon.
Outcome after_restart(const ItemRef& task, const QueueSettings& settings);

}  // namespace freshet
