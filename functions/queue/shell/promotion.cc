#include "functions/queue/shell/promotion.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

constexpr uint32_t kDelaysAtOnce = 256;  // The tasks to look at before other work gets its turn.
constexpr std::string_view kDelayedIndex = "freshet-delayed-index";

}  // namespace

// DELAYED tasks, the earliest `notBefore` first. Those that are due by `due_by` are whole.
Async<Result<Page>> Promotion::delayed_page(Item start, WallTime due_by) {
  QueryInput query;
  query.table = table_;
  query.index = kDelayedIndex;
  query.key_condition = "taskStatus = :s";
  query.placeholders.values.set(":s", Value(state::kDelayed));
  query.limit = kDelaysAtOnce;
  query.whole_up_to = epoch_ms(due_by);
  query.exclusive_start_key = std::move(start);
  return parts_.table.read_index(std::move(query));
}

// If the wall clock was set, all tasks that are delayed now are timed by boot time from here on.
void Promotion::follow_clock() {
  if (const auto ahead = core_.delays.follow_clock(wall(), boot())) scope_.spawn(note_delays(*ahead));
}

// `ahead`: how far the wall clock was ahead of boot time before the step. While the tasks cannot be read (for example
// without their index), it tries again, and no delay ends by the wall clock meanwhile.
Async<void> Promotion::note_delays(milliseconds ahead) {
  Item start;
  for (;;) {
    Item from = start;
    auto page = co_await delayed_page(std::move(from), WallTime{});
    if (!page) {
      if (parts_.table.gone()) break;
      FRESHET_REACHED("delays that cannot be read when the clock is set");
      co_await sleep_for(services_.scheduler, settings_.look_around);
      continue;
    }
    const bool room = core_.delays.note(page->items, ahead, boot());
    start = std::move(page->last_evaluated_key);
    if (!room || start.empty()) break;  // Without room, the rest goes by the wall clock.
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  core_.delays.noted();
  parts_.timer.request_tick();
}

// `written`: the wall clock when the task's `notBefore` was computed. The clock may have been set before the store
// answered, so the delay depends on both.
void Promotion::delayed(std::string_view id, WallTime written, int64_t not_before_ms) {
  follow_clock();
  if (!core_.delays.delayed(id, not_before_ms, written, boot())) return;
  parts_.timer.hurry(std::min(core_.delays.due_of(id), boot() + due_in(not_before_ms, wall())));
}

// Moves the due tasks that are timed by boot time. True if there may be more.
Async<bool> Promotion::promote_noted() {
  auto ids = core_.delays.noted_due(boot(), kDelaysAtOnce, settings_.look_around);
  if (ids.empty()) co_return false;
  auto tasks = co_await parts_.table.read_tasks(ids);
  std::vector<ItemRef> due;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i] && core_.delays.still_noted(ids[i], tasks[i]->item)) due.push_back(std::move(tasks[i]->item));
  }
  if (!due.empty()) co_await make_due(std::move(due));
  co_return ids.size() == kDelaysAtOnce;
}

// Moves the DELAYED tasks whose delay is over by the wall clock. True if there may be more.
Async<bool> Promotion::promote_due() {
  follow_clock();
  const bool more = co_await promote_noted();
  follow_clock();  // The clock may have been set while the store answered.
  if (!core_.delays.may_be_due(wall())) co_return more;
  const bool more_by_wall = co_await promote_by_wall();
  co_return more || more_by_wall;
}

Async<bool> Promotion::promote_by_wall() {
  auto look = core_.delays.begin_look(wall());
  Item start;
  for (;;) {
    auto page = co_await delayed_page(std::move(start), look.now);
    if (!page) {
      core_.delays.look_failed(wall(), settings_.look_around);
      co_return false;
    }
    start = std::move(page->last_evaluated_key);
    if (!core_.delays.sort(page->items, !start.empty(), look)) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  const size_t due = look.due.size();
  size_t moved = 0;
  if (due > 0) {
    const auto answers = co_await make_due(std::move(look.due));
    moved = static_cast<size_t>(
        std::count_if(answers.begin(), answers.end(), [](const auto& one) { return one.has_value(); }));
  }
  co_return core_.delays.end_look(look, due, moved, !start.empty(), wall(), settings_.look_around);
}

Async<std::vector<Result<WriteOutput>>> Promotion::make_due(std::vector<ItemRef> due, milliseconds patience) {
  auto now = wall();
  auto stale_at = wall_guard_.earliest();
  auto margin = parts_.finder.deadline_margin(true, true);
  std::vector<EditItemInput> writes;
  std::vector<std::pair<ItemRef, std::string_view>> sheds;
  for (const auto& task : due) {
    auto reason = expired(task, stale_at, parts_.table.definition().ttl_in_milliseconds, margin);
    if (reason.empty()) {
      writes.emplace_back(promote(table_, task, core_.lanes.of_pending(task), now));
    } else {
      FRESHET_REACHED("a delayed task shed when due");
      auto write = end_waiting(table_, task, state::kShed, attribute::kShedReason, reason, now);
      writes.emplace_back(kept(std::move(write), settings_.keep, counted_from()));
    }
    sheds.emplace_back(task, reason);
  }
  auto answers = co_await sure_.edit(std::move(writes), {}, patience);
  std::vector<ShedLine> lines;
  bool any = false;
  for (size_t i = 0; i < answers.size(); ++i) {
    auto& [task, reason] = sheds[i];
    if (!answers[i]) {
      // The item has no room for the attributes of a PENDING task.
      const bool never = answers[i].error().code == ErrorCode::kValidation;
      if (never) scope_.spawn(parts_.settlements.set_aside(task, answers[i].error().message));
      continue;
    }
    core_.delays.ended(text_of(task, attribute::kId));
    if (reason.empty()) {
      any = true;
      parts_.adoption.lane_filled(answers[i]->attributes);
      parts_.shedding.due_by(int_of(answers[i]->attributes, attribute::kDeadline, kNever));
    } else {
      lines.push_back(parts_.sheds.shed_line(task, reason, "due", now));
    }
  }
  if (any) {
    parts_.takes.wake();
    parts_.timer.start_soon(nanoseconds(0));
  }
  if (!lines.empty()) co_await parts_.sheds.log_sheds(std::move(lines));
  co_return answers;
}

}  // namespace freshet
