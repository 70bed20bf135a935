// Responses of the task API as JSON. I/O threads.
#pragma once

#include <string>
#include <vector>

#include "runtime/api/task_queue.h"
#include "runtime/ports.h"

namespace freshet::tasks {

// The HTTP status of the code.
int status_of(ErrorCode code);
// Both end with a newline, for people at a terminal. error_answer() returns {"error": {...}} with the status of the
// code (and Retry-After if another attempt makes sense).
HttpResponse error_answer(const Error& error);
HttpResponse json_answer(std::string body);

std::string created_json(const std::vector<Result<CreatedTask>>& results, bool single);
// `settled` may be null: then there was nothing to settle. `refused`: why a take that settled first took nothing; else
// null.
std::string taken_json(const std::vector<TakenTask>& tasks, const std::string* settled, const Error* refused);
// Only the array.
std::string settled_json(const std::vector<std::string>& ids, const std::vector<Result<ItemRef>>& results);
std::string cancelled_json(const std::vector<std::string>& ids, const std::vector<Result<ItemRef>>& results);
std::string page_json(const TaskPage& page);
// The counts of tasks by their end, as an object.
void append_in_time(std::string& out, const InTimeCounts& counts);
// Members of an object, each after a comma, if they are set: `runnerTrouble`; `rateLimit` and `concurrency`.
void append_trouble(std::string& out, const QueueStats& stats, WallTime now);
void append_limits(std::string& out, const QueueStats& stats);
std::string stats_json(const QueueStats& stats, WallTime now);
// The number of tasks that wait or are in work, for programs that scale workers.
std::string backlog_json(const QueueStats& stats);
std::string policy_json(const QueuePolicy& policy);
std::string explanation_json(const Explanation& explanation);
// The shed log's lines, and the number of all sheds.
std::string sheds_json(const std::vector<ItemRef>& lines, const QueueStats& stats);
std::string names_json(const std::vector<std::string>& names, std::string_view member = "queues");

}  // namespace freshet::tasks
