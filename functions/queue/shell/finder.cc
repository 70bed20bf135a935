#include "functions/queue/shell/finder.h"

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

constexpr size_t kLonger = 4;  // The page after one of which nothing can be taken is that much longer.

}  // namespace

Async<Result<TaskFinder::Candidates>> TaskFinder::candidates(size_t wanted, bool urgent, Walk start) {
  if (!core_.lanes.empty()) return lane_candidates(wanted);
  return urgent ? urgent_candidates(wanted, std::move(start)) : plain_candidates(wanted, std::move(start));
}

Async<Result<bool>> TaskFinder::has_work() {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  if (core_.pauses.all()) co_return false;
  wall_guard_.trusted();  // Looks at the clock: is_doubtful() goes by that.
  // However much waits in groups that are paused or at their limit, it is not looked through.
  if (!core_.lanes.empty() && (core_.limits.on() || !core_.pauses.groups().empty())) {
    auto found = co_await lane_candidates(1);
    if (!found) co_return fail(found.error());
    co_return !found->tasks.empty() || found->cut;
  }
  constexpr size_t kLargestPage = 1000;
  constexpr int kMostPages = 16;  // Rather once in vain than to hold up everybody.
  Item start;
  size_t limit = 1 + core_.keys.passed() + core_.pauses.keys();
  for (int pages = 0; pages < kMostPages; ++pages) {
    limit = std::min(limit, kLargestPage);
    auto page = co_await parts_.table.heads(state::kPending, static_cast<uint32_t>(limit), false, std::move(start));
    if (!page) co_return fail(page.error());
    const auto at = now();
    for (const auto& task : page->items) {
      if (!core_.is_paused(task) && !core_.waits_for_key(task) && !core_.is_doubtful(task, at) &&
          !core_.is_lost(task, at))
        co_return true;
    }
    start = std::move(page->last_evaluated_key);
    if (start.empty()) co_return false;
    limit *= 4;
  }
  co_return true;
}

std::string_view TaskFinder::stale(const ItemRef& task) const {
  return expired(task, wall(), parts_.table.definition().ttl_in_milliseconds, deadline_margin(true, true));
}

nanoseconds TaskFinder::deadline_margin(bool newest_first, bool last) const {
  return core_.window.margin(newest_first, last, boot());
}

// The newest eligible tasks from `start` on.
Async<Result<TaskFinder::Candidates>> TaskFinder::plain_candidates(size_t wanted, Walk start) {
  Candidates out;
  out.newest_first = newest_first();
  // One more than wanted tells whether the last one wanted is the last there is.
  const size_t one_more = settings_.deadline_margin == DeadlineMargin::kYield && !out.newest_first ? 1 : 0;
  // While the wall clock is not trusted, many tasks that look expired may stand before others.
  const size_t more = wall_guard_.doubts() ? kMostTaken : core_.passed_by_now();
  const auto limit = std::min<size_t>(std::max(wanted + one_more + more, start.least), kMostTaken);
  auto page = co_await parts_.table.heads(state::kPending, static_cast<uint32_t>(limit), !out.newest_first,
                                          std::move(start.key));
  if (!page) co_return fail(page.error());
  out.tasks = std::move(page->items);
  const auto at = now();
  std::erase_if(out.tasks, [&](const ItemRef& task) { return core_.is_passed_over(task, at); });
  out.next.key = std::move(page->last_evaluated_key);
  out.next.least = out.tasks.empty() ? kLonger * limit : 0;
  out.more = !out.next.key.empty();
  co_return out;
}

// The next by ORDER=deadline, in a queue without lanes.
Async<Result<TaskFinder::Candidates>> TaskFinder::urgent_candidates(size_t wanted, Walk start) {
  const auto limit = std::min<size_t>(std::max(wanted + core_.passed_by_now(), start.least), kMostTaken);
  auto page = co_await urgent_page(std::string(), static_cast<uint32_t>(limit), std::move(start));
  if (!page) co_return fail(page.error());
  Candidates out;
  out.tasks = std::move(page->tasks);
  out.next = std::move(page->next);
  out.next.least = out.tasks.empty() ? kLonger * limit : 0;
  out.more = page->more;
  co_return out;
}

// Which end the next take goes from.
bool TaskFinder::newest_first() const {
  return core_.window.newest_first(boot());
}

// `hungry`: the take would have taken more.
void TaskFinder::tell_order(const Candidates& found, bool hungry) {
  // Tasks that wait for the limit of their group or key are there all the same.
  const bool is_empty = hungry && !core_.lanes.shares().any_held() && (!found.more || found.tasks.empty());
  if (is_empty) return core_.window.found_empty(boot());
  if (found.newest_first || found.tasks.empty()) return;
  const auto created = found.oldest.value_or(int_of(found.tasks[0], attribute::kCreated, 0));
  core_.window.took_oldest(created, wall(), boot());
}

}  // namespace freshet
