// Changes of many tasks of one queue at once (docs/running-queues.md, "Changing many tasks"): each is a job that first
// counts the matching tasks and then changes them, in bounded steps, so that live traffic goes on meanwhile. Tasks that
// were created after the job began are left alone. If other tasks were changed after a task was read, it is read again
// just before its change.
//
// The audit log has a line for the begin and one for the end of each job. Each is written in one transaction with the
// item that marks the job as running. If the daemon stops during a job, the next start logs the job as interrupted; its
// changes remain.
//
// Loop thread. Services outlive it; it outlives its Asyncs.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "runtime/api/audit_log.h"
#include "runtime/api/queue_admin.h"
#include "runtime/invoke/function.h"
#include "tables/tables.h"

namespace freshet {

// The outcome for one task.
struct BulkResult {
  enum class What { kChanged, kMoved, kFailed, kCopied };
  What what = What::kChanged;
  std::string error;  // For kFailed.
};

class BulkJobs {
 public:
  static constexpr size_t kMostAtWork = 8;
  static constexpr size_t kMostKept = 50;        // Jobs that have ended.
  static constexpr int64_t kFirstSlot = -2'000;  // In the system table: one slot per running job, from here down.

  // The calls that jobs make to their queue.
  struct Desk {
    // The next tasks of the state that were created up to `until`, oldest first.
    std::function<Async<Result<Page>>(std::string state, WallTime until, Item start, uint32_t limit)> page;
    // The tasks with these ids; those that do not exist are left out.
    std::function<Async<Result<std::vector<ItemRef>>>(std::vector<std::string> ids)> read;
    // Both arguments outlive the answer.
    std::function<Async<std::vector<BulkResult>>(const BulkInput& input, std::vector<ItemRef> tasks)> change;
  };

  BulkJobs(Services& services, EventLog log, std::string queue, Desk desk)
      : services_(services), log_(log), queue_(std::move(queue)), desk_(std::move(desk)) {}
  BulkJobs(const BulkJobs&) = delete;
  BulkJobs& operator=(const BulkJobs&) = delete;

  // From now on the audit log `audit` has lines about jobs. It outlives this.
  void audit_with(AuditLog& audit) { audit_ = &audit; }
  // At startup: logs the jobs that the last stop of the daemon interrupted.
  Async<void> find_cut_off();

  // kValidation for invalid input, kTooManyRequests if kMostAtWork jobs are running. The answer comes once the begin is
  // written; the job then runs by itself.
  Async<Result<BulkJob>> start(BulkInput input, Actor actor);
  // All jobs, the newest first.
  std::vector<BulkJob> list() const;
  // kNotFound.
  Result<BulkJob> find(uint64_t id) const;
  // The job ends after its current step. kNotFound; kConflict if it has ended.
  Result<BulkJob> stop(uint64_t id, const Actor& actor);
  // Stops all running jobs in this way.
  void stop_all(const std::string& by);
  // True if no job is running.
  bool is_idle() const { return scope_.size() == 0; }

 private:
  struct Work {
    BulkJob job;
    BulkInput input;              // Complete, unlike BulkJob::input. Empty once the job has ended.
    std::optional<int64_t> slot;  // A dry run has none.
    WallTime until{};             // Only tasks that were created by then.
    bool stop = false;
    std::string stopped_by;
    BootTime changing_since{};
    uint64_t end_number =
        0;  // Numbers the jobs in the order of their ends. 0: running, or the line of its end is not written yet.
  };
  Async<Result<BulkJob>> start_now(BulkInput input, Actor actor);
  Error unknown(uint64_t id) const;
  std::optional<int64_t> free_slot() const;
  Async<Result<void>> write_begin(Work& work);
  Async<Result<void>> write_audited(TransactWriteInput transaction, AuditLine line);
  Async<void> run(Work& work);
  Async<Result<void>> go_through(Work& work, bool change);
  Async<Result<void>> go_through_state(Work& work, std::string state, bool change);
  Async<Result<void>> go_through_ids(Work& work, bool change);
  Async<Result<bool>> step(Work& work, std::string state, Item& start, bool change);
  Async<void> count_or_change(Work& work, std::vector<ItemRef> tasks, bool change);
  static bool is_meant(const Work& work, const ItemRef& task);
  Async<void> change_all(Work& work, std::vector<ItemRef> tasks);
  Async<void> keep_rate(const Work& work);
  Async<Result<std::vector<ItemRef>>> read_again(Work& work, std::vector<ItemRef> tasks);
  Async<void> change_some(Work& work, std::vector<ItemRef> tasks);
  Async<void> rest(const Work& work, BootTime began);
  bool is_over(const Work& work) const;
  Async<void> end(Work& work);
  void drop_old();

  Services& services_;
  const EventLog log_;
  const std::string queue_;
  const Desk desk_;
  AuditLog* audit_ = nullptr;
  std::list<Work> works_;  // The oldest first; stable places.
  uint64_t last_id_ = 0;
  uint64_t ends_ = 0;
  Scope scope_;
};

// The states of tasks that the action can be applied to.
std::vector<std::string> bulk_states(BulkInput::Action action);
// The states if the input names none; with ids, all of bulk_states(). Empty for a purge, and for a duplicate without
// ids: their input must name states.
std::vector<std::string> bulk_default_states(const BulkInput& input);
// Describes the job: "purge of PENDING tasks where group=eu, older than 1h".
std::string bulk_in_words(const BulkInput& input);

}  // namespace freshet
