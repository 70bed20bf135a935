// Shedding what has become hopeless without waiting for a take to find it. docs/overload.md.
#include <algorithm>

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
  // One of many steps waits until others have to wait anyway.
  bool others_wait = false;
  if (shed_many_) {
    const auto latest = boot() + ShedPace::kPatience;
    auto lull = services_.tables.lull(latest);
    const bool has_lulls = !lull.is_ready();
    co_await lull;
    others_wait = has_lulls && boot() < latest;
  }
  const auto now = wall();
  const auto seen = urgent_seen_;
  const auto began = boot();
  shed_again_ = began + ShedPace::kSettled;
  auto page = co_await most_urgent(std::exchange(shed_from_, Item()));
  if (!page) {
    hopeless_ms_ = epoch_ms(wall() + settings_.look_around);
    co_return;
  }
  const auto stale_at = staleness_.now(now, boot());
  const auto margin = deadline_margin(true, true);
  std::optional<milliseconds> first_hope;  // How long the first one that has time will have it.
  std::vector<ItemRef> hopeless;
  std::vector<std::string_view> reasons;
  for (size_t i = 0; i < page->items.size(); ++i) {
    if (i + kFetchedAhead < page->items.size()) page->items[i + kFetchedAhead].prefetch();
    auto& task = page->items[i];
    const auto reason = expired(task, stale_at, definition_.ttl_in_milliseconds, margin);
    if (reason.empty()) {
      const WallTime deadline(milliseconds(int_of(task, attribute::kDeadline, 0)));
      first_hope = deadline - stale_at - std::chrono::floor<milliseconds>(margin);
      break;
    }
    if (is_claiming(task)) {
      shed_left_ = true;
      continue;
    }
    hopeless.push_back(std::move(task));
    reasons.push_back(reason);
  }
  shed_many_ = hopeless.size() >= ShedPace::kMany;
  const bool all_shed = co_await shed_at_once(std::move(hopeless), std::move(reasons));
  shed_left_ = shed_left_ || !all_shed;
  milliseconds next{0};
  bool none = false;
  if (!first_hope && !page->last_evaluated_key.empty()) {
    // Those that were shed are not in the way of the rest.
    if (shed_left_) shed_from_ = std::move(page->last_evaluated_key);
    if (!shed_left_) shed_again_ = boot() + (others_wait ? nanoseconds(0) : ShedPace::rest(boot() - began));
  } else {
    const bool left = std::exchange(shed_left_, false);
    none = !first_hope && !left;
    next = std::min(first_hope.value_or(kLongest), left ? settings_.look_around : kLongest);
    next = std::clamp(next, ShedPace::kSettled, kLongest);
  }
  const int64_t next_ms = none ? kNever : epoch_ms(wall()) + next.count();
  hopeless_ms_ = seen == urgent_seen_ ? next_ms : std::min(hopeless_ms_, next_ms);
}

// True if it is done with all of them.
Async<bool> Queue::shed_at_once(std::vector<ItemRef> tasks, std::vector<std::string_view> reasons) {
  const auto now = wall();
  std::vector<EditItemInput> writes;
  writes.reserve(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    writes.emplace_back(end_waiting(table_, tasks[i], state::kShed, attribute::kShedReason, reasons[i], now));
    writes.back().unhurried = true;
  }
  if (writes.empty()) co_return true;
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  std::vector<ShedLine> done;
  done.reserve(answers.size());
  bool all = true;
  uint64_t bytes = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) {
      bytes += tasks[i].encoded().size();
      done.push_back(shed_line(tasks[i], reasons[i], "timer", now));
      continue;
    }
    all = false;
    // No room for the reason: it would stand here for ever.
    if (answers[i].error().code == ErrorCode::kValidation) {
      scope_.spawn(set_aside(tasks[i], std::move(answers[i].error().message)));
    }
  }
  drain_rate_.left(done.size(), boot());
  drain_bytes_.left(bytes, boot());
  if (!done.empty()) co_await log_sheds(std::move(done));
  co_return all;
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
  return services_.tables.query(std::move(query));
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
