// Copies of tasks that a job makes (docs/running-queues.md, "Changing many tasks"). Pure.
#pragma once

#include <string_view>

#include "runtime/api/new_task.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The copy of the task: its payload, group, priority, maxAttempts, cost and further attributes, with the changes
// applied. Everything else is that of a new task: key, deadline, delay and ttl are not copied. The id is the original's
// id, "-copy-" and the batch, so that a task that is met twice is copied once. If that would be too long, a UUID
// replaces the original's id. `has_marks`: tasks of this store have attributes::kOwnMarks, which are not copied.
NewTask copy_of(const ItemRef& task, std::string_view batch, const CopyChanges& changes, bool has_marks);
// True if a task with that id is a copy that this batch made.
bool is_copy_of_batch(std::string_view id, std::string_view batch);

}  // namespace freshet
