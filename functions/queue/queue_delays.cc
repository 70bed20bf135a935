// Moves DELAYED tasks on once their delay is over. Delays last as long as when first seen, even if the wall clock is
// set (policy/delay_book.h). docs/lifecycle.md, "Wake-ups".
#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr uint32_t kStep = 256;  // Tasks to look at before other work gets its turn.
constexpr std::string_view kDelayedIndex = "freshet-delayed-index";

}  // namespace

// DELAYED tasks, the earliest `notBefore` first.
Async<Result<Page>> Queue::delayed_page(Item start) {
  QueryInput query;
  query.table = table_;
  query.index = kDelayedIndex;
  query.key_condition = "taskStatus = :s";
  query.placeholders.values.set(":s", Value(state::kDelayed));
  query.limit = kStep;
  query.exclusive_start_key = std::move(start);
  return read_index(std::move(query));
}

// If the wall clock was set, times all tasks that are delayed now by boot time from here on.
void Queue::follow_clock() {
  const bool was_set = delays_.look(wall(), boot()) && !FRESHET_PLANTED("delays-by-the-wall-clock");
  if (!was_set || std::exchange(noting_delays_, true)) return;
  FRESHET_REACHED("delays timed by boot time");
  scope_.spawn(note_delays(delays_.before_step()));
}

// `offset` is that of the wall clock before the step.
Async<void> Queue::note_delays(milliseconds offset) {
  Item start;
  do {
    auto page = co_await delayed_page(std::move(start));
    if (!page) break;  // The remaining tasks go by the wall clock.
    bool room = true;
    for (const auto& task : page->items) {
      const auto at = int_of(task, attribute::kNotBefore, 0);
      room = delays_.add(text_of(task, attribute::kId), at, DelayBook::due_by(offset, at, boot()));
    }
    start = room ? std::move(page->last_evaluated_key) : Item();
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  noting_delays_ = false;
  next_due_ms_ = 0;
  request_tick();
}

// A task is delayed from now on.
void Queue::delayed(std::string_view id, int64_t not_before_ms) {
  follow_clock();
  delays_.forget(id);
  // It has come after the step: note_delays() is not to count it among those of before.
  if (noting_delays_) delays_.add(id, DelayBook::kAny, DelayBook::due_by(delays_.offset(), not_before_ms, boot()));
  ++delayed_seen_;
  if (not_before_ms >= next_due_ms_) return;
  next_due_ms_ = not_before_ms;
  hurry(boot() + due_in(not_before_ms));
}

// The tasks that are timed by boot time. True if there may be more.
Async<bool> Queue::promote_noted() {
  auto ids = delays_.due(boot(), kStep);
  if (ids.empty()) co_return false;
  std::vector<GetItemInput> reads;
  for (const auto& id : ids) {
    GetItemInput get;
    get.table = table_;
    get.key.set(attribute::kId, Value(id));
    reads.push_back(std::move(get));
    delays_.postpone(id, boot() + settings_.look_around);  // Tries again then, in case the store refuses it now.
  }
  auto tasks = co_await services_.tables.read_many(std::move(reads));
  std::vector<ItemRef> due;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i]) continue;
    const ItemRef& task = tasks[i]->item;
    const bool is_delayed = task && text_of(task, attribute::kStatus) == state::kDelayed;
    if (is_delayed && delays_.times(ids[i], int_of(task, attribute::kNotBefore, 0))) {
      due.push_back(task);
    } else {
      delays_.forget(ids[i]);
    }
  }
  if (!due.empty()) co_await make_due(std::move(due));
  co_return ids.size() == kStep;
}

// The DELAYED tasks whose delay is over. True if there may be more.
Async<bool> Queue::promote_due() {
  follow_clock();
  const bool more = co_await promote_noted();
  if (noting_delays_ || next_due_ms_ > epoch_ms(wall())) co_return more;
  const bool more_by_wall = co_await promote_by_wall();
  co_return more || more_by_wall;
}

Async<bool> Queue::promote_by_wall() {
  auto now = wall();
  auto seen = delayed_seen_;
  auto next = kNever;
  std::vector<ItemRef> due;
  Item start;
  do {
    auto page = co_await delayed_page(std::move(start));
    if (!page) {
      next_due_ms_ = epoch_ms(wall() + settings_.look_around);
      co_return false;
    }
    for (auto& task : page->items) {
      auto at = int_of(task, attribute::kNotBefore, 0);
      if (at > epoch_ms(now) + (FRESHET_PLANTED("delay-cut-short") ? 2'000 : 0)) {
        next = at;
        break;
      }
      if (!delays_.times(text_of(task, attribute::kId), at)) due.push_back(std::move(task));
    }
    start = std::move(page->last_evaluated_key);
    const bool all_noted = due.empty() && next == kNever && !start.empty();
    if (!all_noted) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (true);
  const bool all_due = !due.empty() && next == kNever;
  size_t moved = 0;
  if (!due.empty()) moved = co_await make_due(std::move(due));
  // If nothing could be written, the next try would follow at once.
  if (all_due && moved == 0) next = epoch_ms(wall() + settings_.look_around);
  const bool more = next == kNever && !start.empty();
  if (seen == delayed_seen_) {
    next_due_ms_ = more ? 0 : next;
  } else {
    next_due_ms_ = std::min(next_due_ms_, more ? 0 : next);  // A task was delayed in the meantime.
  }
  co_return more;
}

// DELAYED -> PENDING, or -> SHED for stale tasks. Returns how many moved.
Async<size_t> Queue::make_due(std::vector<ItemRef> due) {
  auto now = wall();
  auto stale_at = wall_guard_.earliest();
  auto margin = deadline_margin(true, true);
  std::vector<EditItemInput> writes;
  std::vector<std::pair<ItemRef, std::string_view>> sheds;
  for (const auto& task : due) {
    auto reason = expired(task, stale_at, definition_.ttl_in_milliseconds, margin);
    if (reason.empty()) {
      writes.emplace_back(promote(table_, task, lanes_.of_pending(task), now));
    } else {
      FRESHET_REACHED("a delayed task shed when due");
      auto write = end_waiting(table_, task, state::kShed, attribute::kShedReason, reason, now);
      writes.emplace_back(kept(std::move(write), settings_.keep, now));
    }
    sheds.emplace_back(task, reason);
  }
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  std::vector<ShedLine> lines;
  bool any = false;
  size_t moved = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    auto& [task, reason] = sheds[i];
    if (!answers[i]) {
      // The item has no room for the attributes of a PENDING task.
      const bool never = answers[i].error().code == ErrorCode::kValidation;
      if (never) scope_.spawn(set_aside(task, std::move(answers[i].error().message)));
      continue;
    }
    ++moved;
    delays_.forget(text_of(task, attribute::kId));
    if (reason.empty()) {
      any = true;
      lane_filled(answers[i]->attributes);
      due_by(int_of(answers[i]->attributes, attribute::kDeadline, kNever));
    } else {
      lines.push_back(shed_line(task, reason, "due", now));
    }
  }
  if (any) {
    wake();
    start_soon(nanoseconds(0));
  }
  if (!lines.empty()) co_await log_sheds(std::move(lines));
  co_return moved;
}

}  // namespace freshet
