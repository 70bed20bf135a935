// Shedding what has become hopeless without waiting for a take to find it. docs/policies.md, "Shedding".
#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/shed_pace.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr std::string_view kDeadlineIndex = "freshet-deadline-index";
constexpr size_t kFetchedAhead = 8;                 // Items that have waited long are in no cache.
constexpr milliseconds kLongest{24 * 3600 * 1000};  // The timer looks again by then: clocks step.

}  // namespace

// PENDING -> SHED of what cannot be done by its deadline any more, the most urgent first: waiting further would only
// take room. A bounded step; the rest comes after a pause, so that a million at once leave room for others. What cannot
// be shed is passed over, and looked at again later.
Async<void> Queue::shed_hopeless() {
  if (hopeless_ms_ > epoch_ms(wall()) || boot() < shed_again_) co_return;
  ShedStep step;
  // One of many steps waits until others have to wait anyway, and lasts about as long as they do.
  if (shed_many_) {
    const auto latest = boot() + ShedPace::kPatience;
    auto lull = services_.tables.lull(latest);
    const bool has_lulls = !lull.is_ready();
    co_await lull;
    step.others_wait = has_lulls && boot() < latest;
  }
  step.now = wall();
  step.stale_at = wall_guard_.earliest();
  step.margin = deadline_margin(true, true);
  const auto seen = urgent_seen_;
  step.began = boot();
  shed_again_ = step.began + ShedPace::kSettled;
  do {
    const bool known = co_await shed_page(step);
    if (!known) {
      hopeless_ms_ = epoch_ms(wall() + settings_.look_around);
      break;
    }
  } while (step.more && !shed_left_ && step.others_wait && boot() < step.until);
  shed_many_ = step.lines.size() >= ShedPace::kMany;
  if (!step.lines.empty()) {
    drain_rate_.left(step.lines.size(), boot());
    drain_bytes_.left(step.bytes, boot());
    co_await log_sheds(std::move(step.lines));
  }
  if (step.failed) co_return;
  milliseconds next{0};
  bool none = false;
  if (step.more) {
    if (!shed_left_) shed_again_ = boot() + (step.others_wait ? nanoseconds(0) : ShedPace::rest(boot() - step.began));
  } else {
    const bool left = std::exchange(shed_left_, false);
    none = !step.first_hope && !left;
    next = std::min(step.first_hope.value_or(kLongest), left ? settings_.look_around : kLongest);
    next = std::clamp(next, ShedPace::kSettled, kLongest);
  }
  const int64_t next_ms = none ? kNever : epoch_ms(wall()) + next.count();
  hopeless_ms_ = seen == urgent_seen_ ? next_ms : std::min(hopeless_ms_, next_ms);
}

// Sheds the hopeless tasks of the next page. False if no page can be had.
Async<bool> Queue::shed_page(ShedStep& step) {
  Item start = std::exchange(shed_from_, Item());
  auto page = co_await most_urgent(std::move(start));
  step.failed = !page;
  if (page && !page->items.empty()) FRESHET_REACHED("the timer looks for hopeless tasks");
  if (!page) co_return false;
  const auto& tasks = page->items;
  if (step.until == BootTime{}) set_end(step, tasks);
  const size_t most = step.others_wait ? ShedPace::kTogether : ShedPace::kStep;
  size_t looked = 0;
  bool over = false;
  while (looked < tasks.size() && !step.first_hope && !over) {
    std::vector<ItemRef> alike;
    std::string_view why;
    for (; looked < tasks.size() && alike.size() < most; ++looked) {
      const auto& task = tasks[looked];
      if (looked + kFetchedAhead < tasks.size()) tasks[looked + kFetchedAhead].prefetch();
      const auto reason = expired(task, step.stale_at, definition_.ttl_in_milliseconds, step.margin);
      if (reason.empty()) {
        const WallTime deadline(milliseconds(int_of(task, attribute::kDeadline, 0)));
        step.first_hope = deadline - step.stale_at - std::chrono::floor<milliseconds>(step.margin);
        break;
      }
      if (!alike.empty() && (reason != why || keeps_own_ttl(task) != keeps_own_ttl(alike[0]))) break;
      why = reason;
      if (claims_.is_in_flight(task)) {
        shed_left_ = true;
      } else {
        alike.push_back(task);
      }
    }
    if (!alike.empty()) co_await shed_alike(step, std::move(alike), why);
    // Those that were shed are not in the way of the rest, the others are.
    over = step.others_wait && !shed_left_ && boot() >= step.until;
  }
  step.more = !step.first_hope && (looked < tasks.size() || !page->last_evaluated_key.empty());
  if (step.more && shed_left_) shed_from_ = std::move(page->last_evaluated_key);
  co_return true;
}

void Queue::set_end(ShedStep& step, const std::vector<ItemRef>& tasks) {
  milliseconds late{0};
  if (!tasks.empty()) {
    const WallTime deadline(milliseconds(int_of(tasks[0], attribute::kDeadline, 0)));
    late = std::chrono::floor<milliseconds>(step.margin) - (deadline - step.stale_at);
  }
  step.until = step.began + ShedPace::lull(late);
}

// All for one reason, and not none; of all, or of none, the ttl is a client's.
Async<void> Queue::shed_alike(ShedStep& step, std::vector<ItemRef> tasks, std::string_view reason) {
  auto edit = end_waiting(table_, tasks[0], state::kShed, attribute::kShedReason, reason, step.now);
  edit = kept(std::move(edit), settings_.keep, step.now);
  edit.unhurried = true;
  auto answers = co_await services_.tables.edit_alike(std::move(edit), tasks);
  ShedLine line = shed_line(tasks[0], reason, "timer", step.now);  // The others' differ in task and age.
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) {
      step.bytes += tasks[i].encoded().size();
      line.task = text_of(tasks[i], attribute::kId);
      line.age = age_of(tasks[i], step.now);
      step.lines.push_back(line);
      continue;
    }
    FRESHET_REACHED("a hopeless task could not be shed");
    shed_left_ = true;
    // No room for the reason: it would stand here for ever.
    if (answers[i].error().code == ErrorCode::kValidation) {
      scope_.spawn(set_aside(tasks[i], std::move(answers[i].error().message)));
    }
  }
}

// A deadline of 0 or less is none.
Async<Result<Page>> Queue::most_urgent(Item start) {
  QueryInput query;
  query.table = table_;
  query.index = kDeadlineIndex;
  query.key_condition = "taskStatus = :s AND deadline >= :one";
  query.placeholders.values.set(":one", Value::number(1));
  query.placeholders.values.set(":s", Value(state::kPending));
  query.limit = ShedPace::kStep;
  query.exclusive_start_key = std::move(start);
  return read_index(std::move(query));
}

// A task became PENDING that has a deadline.
void Queue::due_by(int64_t deadline_ms) {
  if (deadline_ms <= 0 || deadline_ms == kNever) return;
  const auto hopeless_ms = deadline_ms - std::chrono::floor<milliseconds>(deadline_margin(true, true)).count();
  if (hopeless_ms >= hopeless_ms_) return;
  ++urgent_seen_;
  hopeless_ms_ = hopeless_ms;
  hurry(std::max(boot() + due_in(hopeless_ms), shed_again_));
}

}  // namespace freshet
