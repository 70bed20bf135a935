#include "functions/queue/shell/shedding.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

// Sheds PENDING tasks that cannot be done by their deadline any more, the most urgent first, as they only take room. A
// step is bounded, and the rest follows after a pause, so that a million hopeless tasks leave time for other work.
// Tasks that cannot be shed are passed over and looked at again later.
Async<void> Shedding::shed_hopeless() {
  if (!core_.shedder.is_due(wall(), boot())) co_return;
  ShedStep step;
  // One of many steps waits until others wait for the disk, and lasts about as long as they do.
  if (core_.shedder.is_one_of_many()) {
    const auto latest = boot() + ShedPace::kPatience;
    auto lull = services_.tables.lull(latest);
    const bool has_lulls = !lull.is_ready();
    co_await lull;
    step.others_wait = has_lulls && boot() < latest;
  }
  step.now = wall();
  step.keep_from = counted_from();
  step.stale_at = wall_guard_.earliest();
  step.margin = parts_.finder.deadline_margin(true, true);
  step.began = boot();
  core_.shedder.begin(step);
  do {
    const bool known = co_await shed_page(step);
    if (!known) break;
  } while (core_.shedder.goes_on(step, boot()));
  core_.shedder.pages_over(step);
  if (!step.lines.empty()) {
    core_.admission.left(step.shed, step.bytes, boot());
    co_await parts_.sheds.log_sheds(std::move(step.lines));
  }
  core_.shedder.end(step, wall(), boot(), settings_.look_around);
}

// Sheds the hopeless tasks of the next page. False if the page cannot be read.
Async<bool> Shedding::shed_page(ShedStep& step) {
  Item start = core_.shedder.next_start();
  auto page = co_await most_urgent(std::move(start), step.stale_at + std::chrono::ceil<milliseconds>(step.margin));
  if (!page) {
    core_.shedder.page_failed(step, wall(), settings_.look_around);
    co_return false;
  }
  const auto& tasks = page->items;
  core_.shedder.page_came(step, tasks);
  size_t looked = 0;
  for (;;) {
    auto alike = core_.shedder.alike(step, tasks, looked, boot(), parts_.table.definition().ttl_in_milliseconds,
                                     [this](const ItemRef& task) { return core_.claims.is_in_flight(task); });
    if (alike.tasks.empty()) break;
    co_await shed_alike(step, std::move(alike));
  }
  core_.shedder.page_done(step, looked, tasks.size(), std::move(page->last_evaluated_key));
  co_return true;
}

Async<void> Shedding::shed_alike(ShedStep& step, Shedder::Alike alike) {
  const auto& tasks = alike.tasks;
  auto edit = end_waiting(table_, tasks[0], state::kShed, attribute::kShedReason, alike.reason, step.now);
  edit = kept(std::move(edit), settings_.keep, step.keep_from);
  edit.unhurried = true;
  auto answers = co_await sure_.edit_alike(std::move(edit), tasks);
  // The lines of the others differ in task and age.
  ShedLine line = parts_.sheds.shed_line(tasks[0], alike.reason, "timer", step.now);
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) {
      Shedder::shed(step, tasks[i]);
      line.task = text_of(tasks[i], attribute::kId);
      line.age = parts_.sheds.age_of(tasks[i], step.now);
      step.lines.push_back(line);
      continue;
    }
    FRESHET_REACHED("a hopeless task could not be shed");
    core_.shedder.could_not_shed();
    set_aside_if_full(tasks[i], answers[i].error());
  }
}

// Takes out of `tasks` those that wait although their ttl has passed.
std::vector<ItemRef> Shedding::take_expired(std::vector<ItemRef>& tasks) const {
  const auto has_expired = [this](const ItemRef& task) {
    const auto status = text_of(task, attribute::kStatus);
    if (status != state::kPending && status != state::kDelayed) return false;
    const auto end = ttl_end(task, parts_.table.definition().ttl_in_milliseconds);
    return end && end->at <= wall_guard_.earliest() && !core_.claims.is_in_flight(task);
  };
  const auto first =
      std::stable_partition(tasks.begin(), tasks.end(), [&](const ItemRef& task) { return !has_expired(task); });
  std::vector<ItemRef> expired(first, tasks.end());
  tasks.erase(first, tasks.end());
  return expired;
}

// A task that could not be shed has moved, or is tried by the next search, or has no room for the reason.
Async<bool> Shedding::shed_expired(std::vector<ItemRef>& tasks) {
  const WallTime now = wall();
  const auto expired = take_expired(tasks);
  if (expired.empty()) co_return false;
  std::vector<EditItemInput> edits;
  for (const ItemRef& task : expired) {
    auto edit = end_waiting(table_, task, state::kShed, attribute::kShedReason, "ttl", now);
    edits.push_back(kept(std::move(edit), settings_.keep, counted_from()));
    edits.back().unhurried = true;
  }
  auto answers = co_await sure_.edit(std::move(edits));
  std::vector<ShedLine> lines;
  for (size_t i = 0; i < answers.size(); ++i) {
    const ItemRef& task = expired[i];
    if (!answers[i]) {
      set_aside_if_full(task, answers[i].error());
      continue;
    }
    lines.push_back(parts_.sheds.shed_line(task, "ttl", "search", now));
    if (text_of(task, attribute::kStatus) == state::kPending) {
      core_.admission.left(1, task.encoded().size(), boot());
    } else {
      core_.delays.ended(text_of(task, attribute::kId));
    }
  }
  if (lines.empty()) co_return false;
  FRESHET_REACHED("a search shed what had expired");
  co_await parts_.sheds.log_sheds(std::move(lines));
  co_return true;
}

// A task without room for the reason would stay for ever.
void Shedding::set_aside_if_full(const ItemRef& task, const Error& error) {
  if (error.code == ErrorCode::kValidation) scope_.spawn(parts_.settlements.set_aside(task, error.message));
}

// A deadline of 0 or less does not count. Tasks that are due by `late_by` are whole.
Async<Result<Page>> Shedding::most_urgent(Item start, WallTime late_by) {
  QueryInput query;
  query.table = table_;
  query.index = layout_.deadline_index;
  query.key_condition = std::string(layout_.in_state) + " AND deadline >= :one";
  query.placeholders.values.set(":one", Value::number(1));
  query.placeholders.values.set(":s", Value(state::kPending));
  if (layout_.has_places) query.filter = "taskStatus = :s";  // A client may have ended one and left its place.
  query.limit = ShedPace::kStep;
  query.whole_up_to = epoch_ms(late_by);
  query.exclusive_start_key = std::move(start);
  return parts_.table.read_index(std::move(query));
}

// A task with a deadline became PENDING.
void Shedding::due_by(int64_t deadline_ms) {
  if (deadline_ms <= 0 || deadline_ms == kNeverMs) return;
  if (core_.shedder.due_by(deadline_ms, parts_.finder.deadline_margin(true, true)))
    parts_.timer.hurry(core_.shedder.next_look(wall(), boot()));
}

}  // namespace freshet
