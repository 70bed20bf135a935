// Why nobody will ever take a task that a client wrote. Pure.
#pragma once

#include <optional>

#include "runtime/api/task_queue.h"
#include "tables/value/item_ref.h"

namespace freshet {

// Its state or a number is missing, so that it is in no index that takes read. A state that is none of ours may be a
// client's own and says nothing here, unless it is one of ours but for case and blanks. Empty: it will be served, or
// has ended.
std::optional<Reason> unserved_because(const ItemRef& task);
// The same, for somebody who asks about that task: every state that is none of ours is a reason.
std::optional<Reason> unserved_in_any_case(const ItemRef& task);

}  // namespace freshet
