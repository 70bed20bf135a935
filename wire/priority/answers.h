// Responses of the priority-queue API as JSON. I/O threads.
#pragma once

#include <string>
#include <vector>

#include "runtime/api/priority_queue.h"
#include "runtime/ports.h"

namespace freshet::priority {

// The HTTP status of a result.
int status_of(const PriorityResult& result);
// Appends the members of the priority-queue sample, with its names and in its order, then Freshet's own. `shape`
// selects the members that not every result has.
enum class Shape { kResult, kPeek, kDequeue, kRecord };
void append_result(std::string& out, const PriorityResult& result, Shape shape);
std::string peeked_json(const std::vector<PriorityResult>& results);
std::string stats_json(const PriorityStats& stats);
std::string dead_json(const DeadStats& stats);
std::string page_json(const RecordPage& page);
std::string redrive_json(const RedriveRecordsOutput& out);

}  // namespace freshet::priority
