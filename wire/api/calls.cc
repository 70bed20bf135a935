#include "wire/api/calls.h"

#include <algorithm>
#include <iterator>

namespace freshet {
namespace {

constexpr Role kRead = Role::kRead;
constexpr Role kWork = Role::kWork;
constexpr Role kOperate = Role::kOperate;
constexpr Role kAdmin = Role::kAdmin;

constexpr ApiLine kLines[] = {
    // The calls that workers make all the time come first.
    {ApiCall::kTake, "takeTasks", "POST", "/queues/{queue}/take", kWork,
     "Take tasks under a lease, newest first; settle others first", "", "Take", "Taken"},
    {ApiCall::kSettle, "settleTasks", "POST", "/queues/{queue}/settle", kWork,
     "Complete, fail or release tasks that you hold, or renew their leases", "", "Settle!", "Settled"},
    {ApiCall::kCreateTasks, "createTasks", "POST", "/queues/{queue}/tasks", kWork, "Create one task or many", "",
     "Create", "Created"},
    {ApiCall::kListTasks, "listTasks", "GET", "/queues/{queue}/tasks", kRead,
     "List tasks by state; where.NAME=VALUE keeps those with that attribute",
     "state:TaskState limit:PageSize order:PageOrder cursor:Text text:Text olderThanMs:Age", "", "TaskPage"},
    {ApiCall::kGetTask, "getTask", "GET", "/queues/{queue}/tasks/{taskId}", kRead, "Look at one task", "", "", "Task"},
    {ApiCall::kExplainTask, "explainTask", "GET", "/queues/{queue}/tasks/{taskId}/explain", kRead,
     "The life of a task, and the reasons for its state", "", "", "Explanation"},
    {ApiCall::kTaskTrace, "taskTrace", "GET", "/queues/{queue}/tasks/{taskId}/trace", kRead,
     "The spans of the attempts on a task, while the daemon traces", "", "", "TaskTrace"},
    {ApiCall::kListQueues, "listQueues", "GET", "/queues", kRead, "All task queues, with what they do now", "", "",
     "Queues"},
    {ApiCall::kQueueStats, "queueStats", "GET", "/queues/{queue}/stats", kRead, "The books of a queue", "", "",
     "Stats"},
    {ApiCall::kQueueBacklog, "queueBacklog", "GET", "/queues/{queue}/backlog", kRead,
     "How many tasks wait or are in work, for a scaler of workers", "", "", "Backlog"},
    {ApiCall::kQueueSheds, "queueSheds", "GET", "/queues/{queue}/sheds", kRead, "The newest lines of the shed log",
     "limit:LogSize", "", "Sheds"},
    {ApiCall::kQueueSeries, "queueSeries", "GET", "/queues/{queue}/series", kRead,
     "The history of a queue by the second or by the minute", "limit:SeriesSize step:SeriesStep", "", "Series"},
    {ApiCall::kQueueGroups, "queueGroups", "GET", "/queues/{queue}/groups", kRead,
     "The groups or keys that share a queue", "limit:PageSize by:GroupBy", "", "Groups"},
    {ApiCall::kQueueHolders, "queueHolders", "GET", "/queues/{queue}/holders", kRead, "The holders of tasks in work",
     "limit:PageSize", "", "Holders"},
    {ApiCall::kQueueRecording, "queueRecording", "GET", "/queues/{queue}/recording", kRead,
     "What the flight recorder has of a queue", "from:Text to:Text place:Text", "", "application/x-ndjson"},
    {ApiCall::kWhatIf, "whatIf", "POST", "/queues/{queue}/whatif", kOperate,
     "Compare what other settings would have made of the last minutes", "", "WhatIfQuestion", "WhatIf"},
    {ApiCall::kQueuePolicy, "queuePolicy", "GET", "/queues/{queue}/policy", kRead, "The settings in force", "", "",
     "Policy"},
    {ApiCall::kChangePolicy, "changePolicy", "POST", "/queues/{queue}/policy", kOperate,
     "Change settings until the next restart or deployment", "", "PolicyChange!", "Policy"},
    {ApiCall::kCancelTasks, "cancelTasks", "POST", "/queues/{queue}/cancel", kOperate, "Cancel tasks by their ids", "",
     "Cancel!", "Cancelled"},
    {ApiCall::kRedriveTasks, "redriveTasks", "POST", "/queues/{queue}/redrive", kOperate, "Make ended tasks wait again",
     "", "Redrive", "Redriven"},
    {ApiCall::kPause, "pause", "POST", "/queues/{queue}/pause", kOperate, "Pause a queue, a group or a key", "",
     "PausePart", "PausedAnswer"},
    {ApiCall::kResume, "resume", "POST", "/queues/{queue}/resume", kOperate, "End a pause", "", "ResumePart",
     "ResumedAnswer"},
    {ApiCall::kListJobs, "listJobs", "GET", "/queues/{queue}/jobs", kRead, "Jobs that change many tasks", "", "",
     "Jobs"},
    {ApiCall::kStartJob, "startJob", "POST", "/queues/{queue}/jobs", kOperate,
     "Purge, cancel, redrive, run or duplicate all tasks that match", "", "JobInput!", "Job"},
    {ApiCall::kGetJob, "getJob", "GET", "/queues/{queue}/jobs/{job}", kRead, "Look at one job", "", "", "Job"},
    {ApiCall::kStopJob, "stopJob", "DELETE", "/queues/{queue}/jobs/{job}", kOperate,
     "Stop a job after its current step", "", "", "Job"},
    {ApiCall::kAudit, "audit", "GET", "/audit", kRead, "Who changed what", "limit:LogSize queue:Text", "", "Audit"},
    {ApiCall::kSettings, "settings", "GET", "/settings", kRead, "All settings with their meaning", "", "", "Settings"},
    {ApiCall::kSchedules, "schedules", "GET", "/schedules", kRead, "Schedules with their last and next run", "", "",
     "Schedules"},
    {ApiCall::kFleet, "fleet", "GET", "/fleet", kRead,
     "The daemons of the fleet, how busy they are, how many the work needs, and who serves which queue", "", "",
     "Fleet"},
    {ApiCall::kNudge, "nudge", "POST", "/fleet/nudge", kRead, "Read the fleet's table now: sent by other members", "",
     "Nudge", "Nudged"},
    {ApiCall::kRun, "run", "POST", "/fleet/run", kOperate,
     "Run a task of another member's queue, beside its limits: for members only", "", "Run!", "Ran"},

    {ApiCall::kListPriorityQueues, "listPriorityQueues", "GET", "/priority", kRead, "All priority queues", "", "",
     "QueueNames"},
    {ApiCall::kPriorityRecords, "priorityRecords", "GET", "/priority/{queue}/records", kRead, "List records",
     "limit:PageSize cursor:Text", "", "PriorityPage"},
    {ApiCall::kPriorityRecord, "priorityRecord", "GET", "/priority/{queue}/records/{id}", kRead, "Look at one record",
     "", "", "PriorityResult"},
    {ApiCall::kPriorityStats, "priorityStats", "GET", "/priority/{queue}/stats", kRead, "Counts of a priority queue",
     "", "", "PriorityStats"},
    {ApiCall::kPriorityDeadLetters, "priorityDeadLetters", "GET", "/priority/{queue}/dlq", kRead,
     "The dead-letter queue", "", "", "PriorityDead"},
    {ApiCall::kPriorityPut, "priorityPut", "POST", "/priority/{queue}/put", kWork, "Write a record, not yet queued", "",
     "PriorityPut!", "PriorityResult"},
    {ApiCall::kPriorityUpsert, "priorityUpsert", "POST", "/priority/{queue}/upsert", kWork,
     "Write a record and keep its place", "", "PriorityPut!", "PriorityResult"},
    {ApiCall::kPriorityStatus, "priorityStatus", "POST", "/priority/{queue}/status", kWork, "Set a record's status", "",
     "PriorityStatus!", "PriorityResult"},
    {ApiCall::kPriorityEnqueue, "priorityEnqueue", "POST", "/priority/{queue}/enqueue", kWork, "Put a record in line",
     "", "PriorityEnqueue!", "PriorityResult"},
    {ApiCall::kPriorityPeek, "priorityPeek", "POST", "/priority/{queue}/peek", kWork,
     "Take the first records; they stay invisible to others for a while", "", "PriorityPeek", "PriorityPeeked"},
    {ApiCall::kPriorityDequeue, "priorityDequeue", "POST", "/priority/{queue}/dequeue", kWork,
     "Take the first record and remove it from the queue", "", "Empty", "PriorityResult"},
    {ApiCall::kPriorityRemove, "priorityRemove", "POST", "/priority/{queue}/remove", kWork,
     "Remove a record from the queue: it is done", "", "PriorityRecordCall!", "PriorityResult"},
    {ApiCall::kPriorityRestore, "priorityRestore", "POST", "/priority/{queue}/restore", kWork,
     "Give a record back to the queue", "", "PriorityRestore!", "PriorityResult"},
    {ApiCall::kPriorityTouch, "priorityTouch", "POST", "/priority/{queue}/touch", kWork,
     "Renew a record's time of change", "", "PriorityRecordCall!", "PriorityResult"},
    {ApiCall::kPrioritySendToDlq, "prioritySendToDlq", "POST", "/priority/{queue}/dlq", kWork,
     "Move a record to the dead-letter queue", "", "PriorityRecordCall!", "PriorityResult"},
    {ApiCall::kPriorityExtend, "priorityExtend", "POST", "/priority/{queue}/extend", kWork,
     "Keep a record that you hold for longer", "", "PriorityExtend!", "PriorityResult"},
    {ApiCall::kPrioritySetPriority, "prioritySetPriority", "POST", "/priority/{queue}/priority", kOperate,
     "Change the priority of a record", "", "PrioritySet!", "PriorityResult"},
    {ApiCall::kPriorityCancel, "priorityCancel", "POST", "/priority/{queue}/cancel", kOperate,
     "Take a record out of the line", "", "PriorityRecordCall!", "PriorityResult"},
    {ApiCall::kPriorityDelete, "priorityDelete", "POST", "/priority/{queue}/delete", kOperate, "Delete a record", "",
     "PriorityDelete!", "PriorityResult"},
    {ApiCall::kPriorityRedrive, "priorityRedrive", "POST", "/priority/{queue}/redrive", kOperate,
     "Put records of the dead-letter queue in line again", "", "PriorityRedriveInput", "PriorityRedrive"},

    {ApiCall::kListFilteredQueues, "listFilteredQueues", "GET", "/filtered", kRead, "All filtered queues", "", "",
     "QueueNames"},
    {ApiCall::kFilteredMembers, "filteredMembers", "GET", "/filtered/{queue}/members", kRead, "List members",
     "limit:PageSize cursor:Text status:Text", "", "FilteredMembers"},
    {ApiCall::kFilteredMember, "filteredMember", "GET", "/filtered/{queue}/members/{id}", kRead, "Look at one member",
     "", "", "FilteredMember"},
    {ApiCall::kFilteredRequests, "filteredRequests", "GET", "/filtered/{queue}/requests", kRead,
     "List requests that wait", "limit:PageSize cursor:Text", "", "FilteredRequests"},
    {ApiCall::kFilteredRequest, "filteredRequest", "GET", "/filtered/{queue}/requests/{id}", kRead,
     "Look at one request", "", "", "FilteredRequest"},
    {ApiCall::kFilteredStats, "filteredStats", "GET", "/filtered/{queue}/stats", kRead, "Depths of all queues", "", "",
     "FilteredStats"},
    {ApiCall::kFilteredRecount, "filteredRecount", "GET", "/filtered/{queue}/recount", kRead,
     "Count everything again and compare", "", "", "FilteredRecount"},
    {ApiCall::kFilteredPut, "filteredPut", "POST", "/filtered/{queue}/put", kWork, "Write a member", "", "FilteredPut!",
     "FilteredMember"},
    {ApiCall::kFilteredDelete, "filteredDelete", "POST", "/filtered/{queue}/delete", kWork, "Delete a member", "",
     "FilteredCall!", "FilteredMember"},
    {ApiCall::kFilteredEnqueue, "filteredEnqueue", "POST", "/filtered/{queue}/enqueue", kWork,
     "Put a member in the queues that it fits", "", "FilteredCall!", "FilteredMember"},
    {ApiCall::kFilteredWithdraw, "filteredWithdraw", "POST", "/filtered/{queue}/withdraw", kWork,
     "Take a member out of all queues", "", "FilteredCall!", "FilteredMember"},
    {ApiCall::kFilteredRelease, "filteredRelease", "POST", "/filtered/{queue}/release", kWork,
     "End the assignment of a member", "", "FilteredRelease!", "FilteredMember"},
    {ApiCall::kFilteredAssign, "filteredAssign", "POST", "/filtered/{queue}/assign", kWork,
     "Assign the first member that matches", "", "FilteredAssign", "FilteredAssigned"},
    {ApiCall::kFilteredCancel, "filteredCancel", "POST", "/filtered/{queue}/cancel", kWork, "Cancel a waiting request",
     "", "FilteredCall!", "FilteredRequest"},

    {ApiCall::kListOrderedTables, "listOrderedTables", "GET", "/ordered", kRead, "All tables with ordered writes", "",
     "", "TableNames"},
    {ApiCall::kOrderedPut, "orderedPut", "POST", "/ordered/{table}/put", kWork,
     "Write an item if its timestamp is newer", "", "OrderedPut!", "OrderedResult"},
    {ApiCall::kOrderedUpdate, "orderedUpdate", "POST", "/ordered/{table}/update", kWork,
     "Change attributes whose timestamps are older", "", "OrderedUpdate!", "OrderedResult"},
    {ApiCall::kOrderedDelete, "orderedDelete", "POST", "/ordered/{table}/delete", kWork,
     "Delete an item if its timestamp is older", "", "OrderedDelete!", "OrderedResult"},
    {ApiCall::kOrderedGet, "orderedGet", "POST", "/ordered/{table}/get", kRead, "Read one item", "", "OrderedGet!",
     "OrderedItem"},
    {ApiCall::kOrderedBatchGet, "orderedBatchGet", "POST", "/ordered/{table}/batch-get", kRead, "Read several items",
     "", "OrderedBatchGet!", "OrderedItems"},
    {ApiCall::kOrderedQuery, "orderedQuery", "POST", "/ordered/{table}/query", kRead, "Query a partition", "",
     "OrderedQuery!", "OrderedPage"},
    {ApiCall::kOrderedScan, "orderedScan", "POST", "/ordered/{table}/scan", kRead, "Scan the table", "", "OrderedScan",
     "OrderedPage"},

    {ApiCall::kHealth, "health", "GET", "/healthz", kRead, "200 while the process lives", "", "", "text/plain"},
    {ApiCall::kReadiness, "readiness", "GET", "/readyz", kRead, "200 while the daemon serves everything", "", "",
     "text/plain"},
    {ApiCall::kMetrics, "metrics", "GET", "/metrics", kRead, "Prometheus text", "", "", "text/plain"},
    {ApiCall::kDaemon, "daemon", "GET", "/daemon", kRead,
     "The daemon's own figures: memory, disk, connections, commits", "", "", "Daemon"},
    {ApiCall::kFunctions, "functions", "GET", "/functions", kRead, "Functions with their counts since the start",
     "limit:ListSize cursor:Text function:Text", "", "Functions"},
    {ApiCall::kMappings, "mappings", "GET", "/mappings", kRead, "Event source mappings with their lag",
     "limit:ListSize cursor:Text function:Text", "", "Mappings"},
    {ApiCall::kLogs, "logs", "GET", "/logs", kRead, "The newest log lines, one JSON object a line",
     "from:Number waitMs:Number newest:Number function:Text", "", "application/x-ndjson"},
    {ApiCall::kRecord, "record", "GET", "/record", kOperate, "Record the changes of a table as a fixture",
     "table:Text! from:Text waitMs:Number", "", "application/x-ndjson"},
    {ApiCall::kDeploy, "deploy", "POST", "/deploy", kAdmin, "Apply a template", "", "Deploy!", "Deployed"},
    {ApiCall::kOpenApi, "openApi", "GET", "/openapi.json", kRead, "This description", "", "", "AnyObject"},
    {ApiCall::kSession, "session", "GET", "/session", kRead, "The key that sends this request, and its role", "", "",
     "Session"},
    {ApiCall::kSignIn, "signIn", "POST", "/session", kRead, "Exchange an access key for the cookie of a session", "",
     "SignIn!", "Session"},
    {ApiCall::kSignOut, "signOut", "DELETE", "/session", kRead, "End the session", "", "", "Empty"},
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kLines); ++i) {
    if (kLines[i].call != static_cast<ApiCall>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "the lines must be in the order of ApiCall, one for each");

// Takes the first segment of `rest`, which begins with '/'.
std::string_view next_segment(std::string_view& rest) {
  rest.remove_prefix(1);
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(segment.size());
  return segment;
}

bool fits(std::string_view pattern, const std::vector<std::string>& path) {
  for (const std::string& segment : path) {
    if (pattern.empty()) return false;
    const std::string_view wanted = next_segment(pattern);
    if (!wanted.starts_with('{') && wanted != segment) return false;
  }
  return pattern.empty();
}

// Calls `use` with the name of each parameter of the query.
template <class Use>
void for_each_parameter(const ApiLine& line, Use use) {
  for (std::string_view rest = line.query; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    use(one.substr(0, one.find(':')));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
}

}  // namespace

std::span<const ApiLine> api_lines() {
  return kLines;
}

const ApiLine& api_line(ApiCall call) {
  return kLines[static_cast<size_t>(call)];
}

const ApiLine* find_api_call(std::string_view method, const std::vector<std::string>& path) {
  for (const ApiLine& line : kLines) {
    if (line.method == method && fits(line.path, path)) return &line;
  }
  return nullptr;
}

std::string api_methods(const std::vector<std::string>& path) {
  std::string out;
  for (const std::string_view method : {"GET", "POST", "DELETE"}) {
    if (find_api_call(method, path) == nullptr) continue;
    if (!out.empty()) out += ", ";
    out += method == "GET" ? "GET, HEAD" : method;
  }
  return out;
}

bool has_parameter(const ApiLine& line, std::string_view name) {
  bool found = false;
  for_each_parameter(line, [&](std::string_view one) { found = found || one == name; });
  return found;
}

std::string parameters_in_words(const ApiLine& line) {
  std::vector<std::string_view> names;
  for_each_parameter(line, [&](std::string_view name) { names.push_back(name); });
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  return out;
}

Error not_implemented(ApiCall call) {
  return {ErrorCode::kInternal, std::string(api_line(call).id) + " has a line in the table, but no route answers it",
          nullptr};
}

}  // namespace freshet
