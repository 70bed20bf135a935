// Copies of tasks that a job makes (docs/running-queues.md, "Changing many tasks"). Pure.
#pragma once

#include <string_view>

#include "runtime/api/new_task.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The copy of the task: its payload, group, priority, maxAttempts, cost and further attributes, with the changes
// applied. It is a new task in all else: the original's key, deadline, delay and ttl are its own. The id is the
// original's, "-copy-" and the batch, so that a task that is met twice is copied once; if that were too long, a UUID
// stands for the original's. `has_marks`: tasks of this store have attributes::kOwnMarks, which are not copied.
NewTask copy_of(const ItemRef& task, std::string_view batch, const CopyChanges& changes, bool has_marks);
// True if the task with that id is a copy of the batch.
bool is_copy_of_batch(std::string_view id, std::string_view batch);

}  // namespace freshet
