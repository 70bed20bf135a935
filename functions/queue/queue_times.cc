// Clients put tasks and end them by themselves. Such a task gets what the queue's settings give to all tasks: a
// deadline (DEFAULT_DEADLINE_MS) when it is put, and a ttl (KEEP_MS) when it ends; unless it has one of its own.
#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/queue.h"

namespace freshet {

// One that the store refuses (it has moved on meanwhile, or has no room) stays as it is.
Async<void> Queue::give_times(std::vector<EditItemInput> edits) {
  auto answers = co_await services_.tables.edit_many(std::move(edits));
  for (const auto& answer : answers) {
    if (answer && text_of(answer->attributes, attribute::kStatus) == state::kPending) {
      due_by(int_of(answer->attributes, attribute::kDeadline, kNever));
    }
  }
}

}  // namespace freshet
