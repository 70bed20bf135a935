// Responses of the task API with a queue's history, the groups or keys that share it, the holders of its tasks and the
// trace of a task, as JSON. I/O threads.
#pragma once

#include <string>

#include "runtime/api/queue_series.h"
#include "runtime/api/queue_views.h"
#include "runtime/trace/recent_spans.h"

namespace freshet::tasks {

// An array for each column, all of the same length; null for steps without a reading. `begins`: the time of the first
// point, by the current wall clock.
std::string series_json(const SeriesSlice& slice, WallTime begins);
std::string shares_json(const QueueShares& shares, bool by_key);
std::string holders_json(const QueueHolders& holders);
// `traced`: false if the daemon traces nothing.
std::string trace_json(const RecentSpans::OfTask& trace, bool traced);

}  // namespace freshet::tasks
