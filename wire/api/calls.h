// The calls of Freshet's own HTTP API, one line each. Routers find their calls here, roles.h reads the role that a call
// needs, docs/http.md lists them, and /openapi.json describes them. Calls of the AWS protocols are not listed.
//
// To add a call: give it a name below, a line in calls.cc and, for a body or an answer of a new form, a schema in
// schemas.json. Tests fail if one of them or the line in docs/http.md is missing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/api/role.h"

namespace freshet {

enum class ApiCall {
  kTake,
  kSettle,
  kCreateTasks,
  kListTasks,
  kGetTask,
  kExplainTask,
  kTaskTrace,
  kListQueues,
  kQueueStats,
  kQueueBacklog,
  kQueueSheds,
  kQueueSeries,
  kQueueGroups,
  kQueueHolders,
  kQueueRecording,
  kWhatIf,
  kQueuePolicy,
  kChangePolicy,
  kCancelTasks,
  kRedriveTasks,
  kPause,
  kResume,
  kListJobs,
  kStartJob,
  kGetJob,
  kStopJob,
  kAudit,
  kSettings,
  kSchedules,
  kFleet,
  kNudge,
  kRun,
  kListPriorityQueues,
  kPriorityRecords,
  kPriorityRecord,
  kPriorityStats,
  kPriorityDeadLetters,
  kPriorityPut,
  kPriorityUpsert,
  kPriorityStatus,
  kPriorityEnqueue,
  kPriorityPeek,
  kPriorityDequeue,
  kPriorityRemove,
  kPriorityRestore,
  kPriorityTouch,
  kPrioritySendToDlq,
  kPriorityExtend,
  kPrioritySetPriority,
  kPriorityCancel,
  kPriorityDelete,
  kPriorityRedrive,
  kListFilteredQueues,
  kFilteredMembers,
  kFilteredMember,
  kFilteredRequests,
  kFilteredRequest,
  kFilteredStats,
  kFilteredRecount,
  kFilteredPut,
  kFilteredDelete,
  kFilteredEnqueue,
  kFilteredWithdraw,
  kFilteredRelease,
  kFilteredAssign,
  kFilteredCancel,
  kListOrderedTables,
  kOrderedPut,
  kOrderedUpdate,
  kOrderedDelete,
  kOrderedGet,
  kOrderedBatchGet,
  kOrderedQuery,
  kOrderedScan,
  kHealth,
  kReadiness,
  kMetrics,
  kDaemon,
  kFunctions,
  kMappings,
  kLogs,
  kRecord,
  kDeploy,
  kOpenApi,
  kSession,
  kSignIn,
  kSignOut,
};

struct ApiLine {
  ApiCall call;
  std::string_view id;      // "listTasks": its operationId.
  std::string_view method;  // "GET", "POST" or "DELETE".
  std::string_view path;    // "/queues/{queue}/tasks"
  Role role;                // The least role that may send it.
  std::string_view summary;
  // Parameters of the query and their schemas, "limit:PageSize table:Text!" ('!': required); "" for none.
  // GET /queues/{queue}/tasks has where.NAME, too, which OpenAPI cannot describe.
  std::string_view query = {};
  std::string_view request = {};  // The schema of the body ('!': it must be there), "" for a call without one.
  std::string_view answer = {};   // The schema of the answer, or its content type if it is not JSON.
};

// In the order of ApiCall. Static storage; any thread, as all functions here.
std::span<const ApiLine> api_lines();
const ApiLine& api_line(ApiCall call);

// The call with this method and path, null if there is none. `path` holds the decoded segments of the target.
const ApiLine* find_api_call(std::string_view method, const std::vector<std::string>& path);
// The methods of the calls with this path, as the header Allow has them ("GET, HEAD, POST"); "" for none.
std::string api_methods(const std::vector<std::string>& path);
// True if the call has a query parameter of that name.
bool has_parameter(const ApiLine& line, std::string_view name);
// The call's query parameters for a message: "limit and queue", "limit", or "" for a call without any.
std::string parameters_in_words(const ApiLine& line);
// kInternal, for a router that gets a call which it does not know.
Error not_implemented(ApiCall call);

}  // namespace freshet
