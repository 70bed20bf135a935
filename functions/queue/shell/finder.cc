#include "functions/queue/shell/finder.h"

#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

Async<Result<FoundTasks>> TaskFinder::candidates(size_t wanted, bool urgent, TaskWalk start,
                                                 TakeChoice::Purpose purpose) {
  TakeChoice choice(core_, settings_, wanted, urgent, std::move(start), purpose);
  while (auto ask = choice.next(choice.by_lanes() ? now_checked() : now())) {
    const bool may_fail = ask->may_fail;
    auto reading = read(std::move(*ask), purpose == TakeChoice::Purpose::kTake);
    auto page = co_await reading;
    if (!page && !may_fail) co_return fail(page.error());
    choice.came(page ? std::move(*page) : Page(), now());
  }
  co_return std::move(choice.found());
}

Async<Result<bool>> TaskFinder::has_work() {
  if (parts_.table.gone()) co_return fail(*parts_.table.gone());
  if (core_.pauses.all()) co_return false;
  wall_guard_.trusted();  // Looks at the clock: is_doubtful() uses the result.
  // The tasks of groups that are paused or at their limit are not read, however many there are.
  if (!core_.lanes.empty() && (core_.limits.on() || !core_.pauses.groups().empty())) {
    auto found = co_await candidates(1, false, TaskWalk(), TakeChoice::Purpose::kLook);
    if (!found) co_return fail(found.error());
    co_return !found->tasks.empty() || found->cut;
  }
  WorkLook look(core_);
  while (auto ask = look.next()) {
    auto reading = read(std::move(*ask), false);
    auto page = co_await reading;
    if (!page) co_return fail(page.error());
    look.came(std::move(*page), now());
  }
  co_return look.found();
}

std::string_view TaskFinder::stale(const ItemRef& task) const {
  return expired(task, wall(), parts_.table.definition().ttl_in_milliseconds, deadline_margin(true, true));
}

nanoseconds TaskFinder::deadline_margin(bool newest_first, bool last) const {
  return core_.times.margin(newest_first, last, boot());
}

// `hungry`: the take would have taken more.
void TaskFinder::report_found(const FoundTasks& found, bool hungry) {
  // Tasks that wait for the limit of their group or key count as waiting, too.
  const bool is_empty = hungry && !core_.lanes.shares().any_held() && (!found.more || found.tasks.empty());
  if (is_empty) return core_.times.found_empty(boot());
  if (found.newest_first || found.tasks.empty()) return;
  const auto created = found.oldest.value_or(int_of(found.tasks[0], attribute::kCreated, 0));
  core_.times.took_oldest(created, wall(), boot());
}

}  // namespace freshet
