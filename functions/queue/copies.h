// Copies of tasks that a job makes (docs/running-queues.md, "Changing many tasks"). Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/new_task.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The copy that the job makes of the task: its payload, group, priority, attempts, cost and further attributes, with
// the changes applied. It has no key, as that is the task's own, and no deadline, as the old one may have passed. Its
// id is the task's with the job's behind it, so that a task that the job meets twice is copied once.
NewTask copy_of(const ItemRef& task, uint64_t job, const CopyChanges& changes);
// True if the task with that id is a copy that this job made.
bool is_copy_by(std::string_view id, uint64_t job);

}  // namespace freshet
