// Explains why nobody will ever take a task that a client wrote. Pure.
#pragma once

#include <optional>

#include "runtime/api/task_queue.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The reason: its state or a number is missing, so that no index that takes read has it. An unknown state may be a
// client's own and is no reason, unless it differs from a known one only by case and blanks. Empty: the task will be
// served, or has ended.
std::optional<Reason> unserved_because(const ItemRef& task);
// Like unserved_because, for a request that asks about this task: every unknown state is a reason.
std::optional<Reason> unserved_in_any_case(const ItemRef& task);

}  // namespace freshet
