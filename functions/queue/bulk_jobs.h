// Changes of many tasks of one queue at once (docs/running-queues.md, "Changing many tasks"): each is a job that first
// counts what matches and then changes it, in bounded steps, so that live traffic goes on beside it. Tasks that were
// created after the job began are left alone. Each task is read again just before it is changed, if others were changed
// in between.
//
// A job's begin and end each have a line in the audit log, in one transaction with the item that says that the job is
// at work. A job that the daemon's end cuts off is told as such at the next start: what it had changed stays so.
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
  static constexpr int64_t kFirstSlot = -2'000;  // In the system table: from there down, one for each at work.

  // The calls that jobs make to their queue.
  struct Desk {
    // The next tasks of a state that were created until then, the oldest first.
    std::function<Async<Result<Page>>(std::string state, WallTime until, Item start, uint32_t limit)> page;
    // Those of the tasks that are there.
    std::function<Async<Result<std::vector<ItemRef>>>(std::vector<std::string> ids)> read;
    // Both arguments outlive the answer.
    std::function<Async<std::vector<BulkResult>>(const BulkInput& input, std::vector<ItemRef> tasks)> change;
  };

  BulkJobs(Services& services, EventLog log, std::string queue, Desk desk)
      : services_(services), log_(log), queue_(std::move(queue)), desk_(std::move(desk)) {}
  BulkJobs(const BulkJobs&) = delete;
  BulkJobs& operator=(const BulkJobs&) = delete;

  // From now on jobs have lines there. Outlives this.
  void audit_with(AuditLog& audit) { audit_ = &audit; }
  // At the start: jobs that the end of the daemon has cut off.
  Async<void> find_cut_off();

  // kValidation for what can never be done, kTooManyRequests if as many are at work as may be. The job goes on by
  // itself; its begin is applied when this answers.
  Async<Result<BulkJob>> start(BulkInput input, Actor actor);
  // The newest first.
  std::vector<BulkJob> list() const;
  // kNotFound.
  Result<BulkJob> find(uint64_t id) const;
  // It ends after the step that it is at. kNotFound; kConflict if it has ended.
  Result<BulkJob> stop(uint64_t id, const Actor& actor);
  // The same for all that are at work.
  void stop_all(const std::string& by);
  // True if none is at work.
  bool is_idle() const { return scope_.size() == 0; }

 private:
  struct Work {
    BulkJob job;
    BulkInput input;              // Whole; BulkJob::input is not. Empty once the job has ended.
    std::optional<int64_t> slot;  // A dry run has none.
    WallTime until{};             // Only tasks that were created by then.
    bool stop = false;
    std::string stopped_by;
    BootTime changing_since{};
    uint64_t end_number = 0;  // Counts jobs as they end. 0: it is at work, or the line of its end is not written yet.
  };
  Async<Result<BulkJob>> start_now(BulkInput input, Actor actor);
  Error unknown(uint64_t id) const;
  std::optional<int64_t> free_slot() const;
  Async<Result<void>> write_begin(Work& work);
  Async<Result<void>> write_told(TransactWriteInput transaction, AuditLine line);
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

// The states that the action may be for.
std::vector<std::string> bulk_states(BulkInput::Action action);
// The states if the input has none. With ids: all that the action is for. Empty for a purge, and for a duplicate
// without ids: these must have states.
std::vector<std::string> bulk_default_states(const BulkInput& input);
// "purge of PENDING tasks where group=eu, older than 1h": what it is to do, in words.
std::string bulk_in_words(const BulkInput& input);

}  // namespace freshet
