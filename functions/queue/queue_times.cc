// Clients put tasks and end them by themselves. Such a task gets what the queue's settings give to all tasks: a
// deadline (DEFAULT_DEADLINE_MS) when it is put, and a ttl (KEEP_MS) when it ends; unless it has one of its own.
#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/queue.h"

namespace freshet {

// Cheap: for every record of the stream. `is_new`: the client has just put it. The deadline counts from when the stream
// shows the task, as clients' clocks differ.
std::optional<EditItemInput> Queue::times_for(const ItemRef& task, bool is_new) const {
  const bool may_date = is_new && settings_.default_deadline && !has(task, attribute::kDeadline);
  if (!may_date && settings_.keep.is_empty()) return std::nullopt;
  const auto status = text_of(task, attribute::kStatus);
  EditItemInput edit;
  edit.table = table_;
  edit.seen = task;
  edit.cause = Cause::kQueue;
  if (may_date && (status == state::kPending || status == state::kDelayed)) {
    const int64_t now = epoch_ms(wall());
    const int64_t starts = status == state::kDelayed ? std::max(now, int_of(task, attribute::kNotBefore, now)) : now;
    constexpr int64_t kLast = 253'402'300'799'999;  // Of the year 9999.
    const int64_t deadline = std::min(starts, kLast) + settings_.default_deadline->count();
    edit.edits.push_back({attribute::kDeadline, Value::number(deadline)});
    edit.unchanged = {attribute::kStatus, attribute::kDeadline};
    return edit;
  }
  const auto time = settings_.keep.of(status);
  if (!time || keeps_own_ttl(task)) return std::nullopt;
  const int64_t ttl = epoch_s(stored_ttl(wall(), *time));
  edit.edits.push_back({attribute::kQueueTtl, Value::number(ttl)});
  edit.edits.push_back({attribute::kTtl, Value::number(ttl)});
  edit.unchanged = {attribute::kStatus, attribute::kTtl};
  return edit;
}

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
