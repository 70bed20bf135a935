// The name of a task's holder, as shown to people.
#pragma once

#include <string_view>

#include "functions/queue/attributes.h"

namespace freshet {

// The `takenBy` of tasks that the queue's own processor takes.
inline constexpr std::string_view kProcessorOwner = "process_tasks";

// The worker that took the task last; empty if nobody did, or the queue's own processor. Valid while the item lives.
inline std::string_view holder_of(const ItemRef& task) {
  const auto by = text_of(task, attribute::kTakenBy);
  return by == kProcessorOwner ? std::string_view() : by;
}

}  // namespace freshet
