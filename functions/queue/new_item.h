// The item of a new task, the same whoever writes it: the daemon that serves the queue (shell/creation.h), or another
// one of its fleet (creation_elsewhere.h).
#pragma once

#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"
#include "tables/tables.h"

namespace freshet {

// kValidation if the task is wrong in itself. `immediate`: the store answers immediately (SureWrites).
Result<void> check_new_task(const NewTask& task, bool immediate);
// Computes the deadline if the task or the queue gives it relative to now, which is `from`. A deadline that is a point
// in time stays as it is.
void set_deadline(NewTask& task, const QueueSettings& settings, WallTime from);

struct NewItemTimes {
  WallTime now;
  WallTime created;       // The `taskCreated`.
  WallTime counted_from;  // The TTL counts from here.
};
// Moves the large members out of the task, and gives it an id if it has none. `lane`: empty: none. kValidation if the
// item is too large. Requires check_new_task().
Result<Item> build_new_item(NewTask& task, NewItemTimes times, std::string lane, const QueueSettings& settings,
                            Random& random);
PutItemInput put_new_item(const std::string& table, Item item);
// Answers a create whose write was refused. No error if the id already exists: `created` becomes false.
void refuse_create(Result<CreatedTask>& result, Error& error);

}  // namespace freshet
