// Answers of the task API as JSON. I/O threads.
#pragma once

#include <string>
#include <vector>

#include "runtime/ports.h"
#include "runtime/task_queue.h"

namespace freshet::tasks {

// The HTTP status that the code has.
int status_of(ErrorCode code);
// Both end with a newline: people read them in a terminal.
// {"error": {...}} with the status that the code has (and Retry-After where trying again helps).
HttpResponse error_answer(const Error& error);
HttpResponse json_answer(std::string body);

std::string created_json(const std::vector<Result<CreatedTask>>& results, bool single);
// `settled` may be null: then there was nothing to settle. `refused`: why nothing was taken, of a take that settled
// first; else null.
std::string taken_json(const std::vector<TakenTask>& tasks, const std::string* settled, const Error* refused);
// The array alone.
std::string settled_json(const std::vector<std::string>& ids, const std::vector<Result<ItemRef>>& results);
std::string cancelled_json(const std::vector<std::string>& ids, const std::vector<Result<ItemRef>>& results);
std::string page_json(const TaskPage& page);
std::string stats_json(const QueueStats& stats, WallTime now);
// The tasks that wait or are in work, as one number for whoever scales workers.
std::string backlog_json(const QueueStats& stats);
std::string policy_json(const QueuePolicy& policy);
std::string explanation_json(const Explanation& explanation);
// The shed log's lines, and how many were shed ever.
std::string sheds_json(const std::vector<ItemRef>& lines, const QueueStats& stats);
std::string names_json(const std::vector<std::string>& names, std::string_view member = "queues");

}  // namespace freshet::tasks
