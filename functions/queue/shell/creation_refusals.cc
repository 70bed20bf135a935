// Refuses new tasks for which there is no room, and with REFUSE_LATE those that would be too late. docs/policies.md,
// "Admission".
#include <map>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

// True if its id already exists, for example because an answer got lost.
Async<bool> Creation::is_there(const NewTask& task) {
  if (task.id.empty()) co_return false;
  GetItemInput get;
  get.table = table_;
  get.key.set(attribute::kId, Value(task.id));
  const auto there = co_await services_.tables.get_item(std::move(get));
  co_return there&&* there;
}

// The room that the task takes: none if it exists already. If it replaces a waiting task of its key, only the
// additional bytes count. `size`: the bytes of the task.
Async<TaskRoom> Creation::room_taken(const NewTask& task, uint64_t size) {
  const bool there = co_await is_there(task);
  if (there && !FRESHET_PLANTED("repeated-create-needs-room")) co_return TaskRoom();
  if (task.key.empty()) co_return TaskRoom{1, size};
  const auto living = co_await parts_.keyed.living_task(task.key);
  if (!living || !living->task) co_return TaskRoom{1, size};
  if (!task.replace) co_return TaskRoom();
  if (text_of(living->task, attribute::kStatus) == state::kTaken) co_return TaskRoom{1, size};
  co_return Admission::in_place_of(living->task.encoded().size(), size);
}

// The same for a task that follows another of its key in the same batch, which the store does not know yet. Empty:
// there is no such task, or it is wrong and will not be created.
std::optional<TaskRoom> Creation::room_taken_after(const NewTask* before, const NewTask& task, uint64_t size) {
  if (before == nullptr) return std::nullopt;
  NewTask copy = *before;
  const auto item = new_item(copy, wall());
  if (!item) return std::nullopt;
  if (!task.replace) return TaskRoom();
  return Admission::in_place_of(ItemRef::encode(*item).encoded().size(), size);
}

// The bytes of the task as stored; 0 if no bound needs them, or if the task is wrong and refused for that.
uint64_t Creation::stored_size(const NewTask& task) {
  if (settings_.admission.max_waiting_bytes == 0) return 0;
  NewTask copy = task;
  const auto item = new_item(copy, wall());
  return item ? ItemRef::encode(*item).encoded().size() : 0;
}

Async<TaskRoom> Creation::waiting() {
  TaskRoom out;
  auto books = co_await services_.tables.books(table_);
  if (!books) co_return out;  // The writes will say why.
  for (auto status : {state::kPending, state::kDelayed}) {
    out.tasks += books->stock[std::string(status)];
    out.bytes += books->bytes[std::string(status)];
  }
  co_return out;
}

Async<void> Creation::refuse_beyond_bound(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out) {
  TaskRoom there = co_await waiting();
  const DrainRates rates = core_.admission.rates(boot());
  std::vector<ShedLine> lines;
  std::map<std::string_view, const NewTask*> last_of_key;  // The tasks that this batch will leave waiting.
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!out[i]) continue;
    const uint64_t size = stored_size(tasks[i]);
    const auto last = last_of_key.find(tasks[i].key);
    const auto known = room_taken_after(last == last_of_key.end() ? nullptr : last->second, tasks[i], size);
    TaskRoom more = known.value_or(TaskRoom{1, size});
    auto refusal = core_.admission.beyond_bound(tasks[i].priority, there, more, rates);
    if (refusal && !known) {
      more = co_await room_taken(tasks[i], size);
      refusal = core_.admission.beyond_bound(tasks[i].priority, there, more, rates);
    }
    if (!refusal) {
      there.tasks += more.tasks;
      there.bytes += more.bytes;
      const bool stays = more.tasks > 0 || tasks[i].replace;
      if (stays && !tasks[i].key.empty()) last_of_key[tasks[i].key] = &tasks[i];
    } else if (auto error = wrong(tasks[i])) {
      out[i] = fail(std::move(*error));
    } else {
      auto full = core_.admission.full(*refusal, there, size, tasks[i].priority);
      const bool never_fits = full.code == ErrorCode::kValidation;
      if (!never_fits) {
        core_.admission.refused(Admission::count_of(*refusal), 1);
        lines.push_back(
            parts_.sheds.refused_line(tasks[i], core_.admission.policy_of(*refusal), std::string(refusal->reason)));
      }
      out[i] = fail(std::move(full));
    }
  }
  if (lines.empty()) co_return;
  log_.debug("TASKS_REFUSED", {{"queue", table_},
                               {"tasks", lines.size()},
                               {"waiting", there.tasks},
                               {"waitingBytes", there.bytes},
                               {"drainRate", rates.tasks}});
  parts_.sheds.log_beside(std::move(lines));
}

// The number of tasks of its lane that wait already.
Async<uint64_t> Creation::waiting_in_lane(std::string lane) {
  uint64_t count = 0;
  Item start;
  do {
    QueryInput query;
    query.table = table_;
    query.index = std::string(TaskFinder::kLaneIndex);
    query.key_condition = "lane = :l";
    query.placeholders.values.set(":l", Value(lane));
    query.limit = 1000;
    query.count_only = true;
    query.exclusive_start_key = std::move(start);
    auto page = co_await parts_.table.read_index(std::move(query));
    if (!page) co_return count;
    count += page->count;
    start = std::move(page->last_evaluated_key);
  } while (!start.empty() && count < Admission::kMostAhead);
  co_return count;
}

// True if a create of the task would be answered with an existing task of its id or key.
Async<bool> Creation::stands_for(const NewTask& task) {
  const bool there = co_await is_there(task);
  if (there) co_return true;
  if (task.key.empty() || task.replace) co_return false;
  const auto living = co_await parts_.keyed.living_task(task.key);
  co_return living && living->task;
}

// Refuses a task whose deadline has passed, as it would only be shed. A repeated create is answered as the first one.
// While the wall clock is not trusted, nothing is refused, as the clock may be wrong.
Async<void> Creation::refuse_passed(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out) {
  std::vector<ShedLine> lines;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const NewTask& task = tasks[i];
    if (!out[i] || !task.deadline || *task.deadline > wall() || !wall_guard_.trusted()) continue;
    const bool there = co_await stands_for(task);
    if (there) FRESHET_REACHED("a repeated create after its deadline");
    if (there && !FRESHET_PLANTED("repeated-create-refused")) continue;
    if (auto error = wrong(task)) {
      out[i] = fail(std::move(*error));
      continue;
    }
    lines.push_back(parts_.sheds.refused_line(task, "deadline", "deadline"));
    out[i] = fail(ErrorCode::kValidation, passed_deadline(epoch_ms(*task.deadline), epoch_ms(wall())));
  }
  if (lines.empty()) co_return;
  core_.admission.refused(&Refusals::passed, lines.size());
  parts_.sheds.log_beside(std::move(lines));
}

Async<Outlook> Creation::outlook(const NewTask& task) {
  Outlook out;
  const bool all_in_time = settings_.deadline_margin == DeadlineMargin::kP90;
  out.service = all_in_time ? core_.times.p90(boot()) : core_.times.p10(boot());
  if (task.delay && task.delay->count() > 0) co_return out;  // It is not known how many tasks will wait then.
  const bool newest_first = core_.admission.goes_newest_first();
  uint64_t ahead = 0;
  if (!newest_first && core_.lanes.empty()) ahead = co_await parts_.sheds.pending_depth();
  if (!newest_first && !core_.lanes.empty()) {
    auto lane = core_.lanes.of_new(task);
    ahead = co_await waiting_in_lane(std::move(lane));
  }
  // If nothing is in work, no slot has to become free first: an idle taker may just not have asked yet.
  const bool slot_is_free = parts_.takes.anyone_waits() || (newest_first && core_.claims.leases().size() == 0);
  out.wait = core_.admission.least_wait(newest_first, ahead, slot_is_free, boot());
  co_return out;
}

Async<void> Creation::refuse_late(const std::vector<NewTask>& tasks, std::vector<Result<CreatedTask>>& out) {
  std::vector<ShedLine> lines;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const NewTask& task = tasks[i];
    const auto ttl = task.ttl ? task.ttl : settings_.default_ttl;
    if (!out[i] || (!task.deadline && !ttl)) continue;
    const Outlook expected = co_await outlook(task);
    const auto now = wall_guard_.earliest();  // While the clock is in doubt, nothing is refused that may be in time.
    TaskEnds ends{{}, task.deadline};
    if (ttl) ends.ttl = stored_ttl(counted_from(), *ttl);
    const auto after = refused_as_late(ends, now + task.delay.value_or(milliseconds(0)), expected);
    if (!after) continue;
    const bool there = co_await is_there(task);
    if (there) continue;
    const TaskRoom room = co_await room_taken(task, 0);
    if (room.tasks == 0 && !task.replace) continue;  // A task of its key already counts.
    if (auto error = wrong(task)) {
      out[i] = fail(std::move(*error));
      continue;
    }
    lines.push_back(parts_.sheds.refused_line(task, "REFUSE_LATE=on", "deadline"));
    // Trying again would not help.
    if (auto early = task.deadline ? early_deadline(epoch_ms(*task.deadline)) : std::string(); !early.empty()) {
      out[i] = fail(ErrorCode::kValidation, "the task would be too late: " + early);
      continue;
    }
    out[i] = fail(core_.admission.late(expected, *after));
  }
  if (lines.empty()) co_return;
  core_.admission.refused(&Refusals::late, lines.size());
  parts_.sheds.log_beside(std::move(lines));
}

}  // namespace freshet
