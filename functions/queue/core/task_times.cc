#include "functions/queue/core/task_times.h"

#include <algorithm>

#include "functions/queue/policy/margin.h"

namespace freshet {

int64_t TaskTimes::dated_ahead(std::optional<int64_t> created_ms) {
  ahead_ms_ = created_ms.value_or(kNeverMs);
  return created_ms ? ahead_ms_ - settings_.created_skew.count() : kNeverMs;
}

void TaskTimes::took_oldest(int64_t created_ms, WallTime wall, BootTime now) {
  order_.took_oldest(milliseconds(std::max<int64_t>(epoch_ms(wall) - created_ms, 0)), now);
}

nanoseconds TaskTimes::margin(bool newest_first, bool last, BootTime now) const {
  return margin_applies(settings_.deadline_margin, newest_first, last) ? p90(now) : nanoseconds(0);
}

bool TaskTimes::is_worth_it(WallTime created, WallTime deadline, WallTime wall, BootTime now) {
  return urgency_.is_worth_it(time_left(created, deadline, fine_.at(wall, now)), service_times_, now);
}

void TaskTimes::started(WallTime created, WallTime deadline, WallTime wall, BootTime now) {
  urgency_.started(time_left(created, deadline, fine_.at(wall, now)), service_times_, now);
}

}  // namespace freshet
