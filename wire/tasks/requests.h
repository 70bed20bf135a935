// Parses bodies of the task API into the queue's inputs (docs/task-api.md). I/O threads. Strict: a member that does not
// exist, or has the wrong type or range, is kValidation naming its path; no part of such a request is carried out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/task_queue.h"
#include "tables/value/json_reader.h"

namespace freshet::tasks {

inline constexpr size_t kMaxBatch = 1000;

// The header with a UUID for the ids of new tasks that have none. It goes with a create from member to member of a
// fleet, so that the tasks have the same ids wherever they are written in the end.
inline constexpr const char* kNewTaskId = "X-Freshet-New-Task-Id";

struct CreateRequest {
  std::vector<NewTask> tasks;
  std::vector<size_t> named = {};  // The tasks that got their ids from name_tasks().
  bool single = false;             // One task, not a list: the answer is one object, too.
};
struct TakeRequest {
  TakeInput take;
  std::vector<Settlement> settle;
  bool settles = false;  // True if "settle" was present: the answer lists its results.
};

struct PolicyRequest {
  QueuePolicy changes;
  bool dry_run = false;  // True: only returns the policy that would result.
  std::optional<PolicyGuardTerms> guard;
  bool keeps = false;  // `"guard": null`: keeps the earlier change, and ends its guard.
};

// The part that a resume is for.
struct PausedPart {
  Pause::Of of = Pause::Of::kQueue;
  std::string name;
};

Result<CreateRequest> read_create(const JsonView& body);
// Gives ids to tasks that have none: the UUID, with the task's number as its last four digits. No effect if it is none.
void name_tasks(CreateRequest& request, std::string_view uuid);
Result<TakeRequest> read_take(const JsonView& body);
Result<std::vector<Settlement>> read_settle(const JsonView& body);
Result<std::vector<std::string>> read_cancel(const JsonView& body);
Result<PolicyRequest> read_policy(const JsonView& body);
Result<RedriveInput> read_redrive(const JsonView& body);
Result<PauseInput> read_pause(const JsonView& body);
Result<PausedPart> read_resume(const JsonView& body);
Result<BulkInput> read_job(const JsonView& body);

}  // namespace freshet::tasks
