// Responses about queues as a whole, as JSON: their state, pauses, jobs, the audit log. I/O threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/api/queue_admin.h"
#include "runtime/api/task_queue.h"

namespace freshet::tasks {

struct QueueSummary {
  std::string name;
  Result<QueueStats> stats;
  QueuePolicy policy;
  std::map<std::string, uint64_t> shed = {};  // Sheds of the last minute, by reason, from its history.
};

// {"queues": names, "details": [...]}. A queue whose stats are unavailable has their error instead.
std::string queues_json(const std::vector<std::string>& names, const std::vector<QueueSummary>& queues, WallTime now);
void append_pauses(std::string& out, const std::vector<Pause>& pauses);
// {"of": …, "name": …}. `name` is that of the group or key.
std::string part_json(Pause::Of of, const std::string& name);
std::string pause_json(const Pause& pause);
std::string job_json(const BulkJob& job);
std::string jobs_json(const std::vector<BulkJob>& jobs);
std::string audit_json(const std::vector<ItemRef>& lines);

}  // namespace freshet::tasks
