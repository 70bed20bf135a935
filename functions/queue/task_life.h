// Lists the events of a task's life in order. It finds them in the task, in its history of failed attempts, and in the
// shed log. Pure.
#pragma once

#include <vector>

#include "runtime/api/task_queue.h"
#include "tables/value/item_ref.h"

namespace freshet {

// `task` is null if it is not in the table any more, or was refused. `lines`: the lines of the shed log that name it,
// and those of runner outages. Events before or after its life are left out.
std::vector<LifeEvent> life_of(const ItemRef& task, std::string_view id, const std::vector<ItemRef>& lines,
                               WallTime now);

// True if a line of the shed log names that task.
bool names_task(const ItemRef& line, std::string_view id);

// "850 ms", "12 s", "5 min", "30 h", "7 days".
std::string in_words(milliseconds time);

}  // namespace freshet
