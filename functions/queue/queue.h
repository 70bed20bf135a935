// One queue: the owner of every claim on its table, for the processor and pull workers alike. docs/lifecycle.md draws
// the states and transitions. Each transition is one conditional write, so others may write the table at any time, and
// the store may answer at once (embedded) or milliseconds later and in any order (remote).
//
// This class is the entrance: core/ decides, the parts in shell/ execute, and docs/internals.md says which part does
// what. Memory holds only what can be restored from the table: the leases that this daemon times, claims in flight,
// waiting callers. Loop thread. Outlives every Async that it returned; services outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/wall_guard.h"
#include "functions/queue/core/admission.h"
#include "functions/queue/identity.h"
#include "functions/queue/policy/downstream.h"
#include "functions/queue/policy/key_limits.h"
#include "functions/queue/punctuality.h"
#include "functions/settings.h"
#include "functions/signal.h"
#include "runtime/api/audit_log.h"
#include "runtime/api/task_queue.h"
#include "runtime/invoke/function.h"

namespace freshet {

class Pauses;
struct QueueParts;

class Queue final : public TaskQueue {
 public:
  // Checks that the table can be a queue and adds what a queue needs: books, a stream, sparse indexes. The guard
  // outlives the queue. Errors: kResourceNotFound; kValidation, which names what is missing.
  static Async<Result<std::unique_ptr<Queue>>> open(Services& services, EventLog log, QueueIdentity identity,
                                                    WallGuard& wall, std::string table, QueueSettings settings);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() override;

  const std::string& name() const override;
  const QueueSettings& settings() const;
  // The settings apply to tasks that are claimed or fail from now on.
  void set_settings(QueueSettings settings);
  // From now on pauses and jobs have lines in `audit`, which outlives the queue. Call it before the queue is used.
  Async<void> audit_with(AuditLog& audit);
  // The queue can now be found by its name: recordings of it begin here.
  void opened();
  // Call it once, at readiness: ends the leases of dead incarnations and starts the timer.
  void begin();
  // From now on takes are refused (kUnavailable), waiting ones too, and no `Start` is published. Settling goes on.
  void drain();
  bool draining() const;
  // As drain(), for good: another daemon serves the queue from now on. Tasks in work in this daemon can still be
  // extended and settled; the queue does nothing else by itself any more. Pull workers go to that daemon.
  void give_up();
  // After give_up(): forgets leases that are over, or that pull workers hold. True if nothing else goes on.
  bool is_over();
  // At the very end, when nobody can settle any more: gives back all tasks that are still held, and their attempts.
  Async<void> release_held();

  // Between these two calls a processor takes whatever comes: no `Start` is needed.
  void processor_began();
  void processor_ended();
  bool has_processor() const;
  // A run of the processor is over, but some of its tasks are still in work: `work` finishes them, at the latest when
  // the daemon stops.
  void let_finish(Async<void> work);
  // Some of the tasks given to let_finish() have ended.
  void slots_freed();
  // True if the last processor had no task runner, so that workers pull. A processor still starts now and then.
  // The tasks that this daemon holds, or is about to claim; without those of pull workers if it gave the queue up.
  size_t in_work();
  // In a fleet: says how many tasks are still in work at daemons that served the queue before. They count against its
  // limits.
  void set_left_elsewhere(std::function<size_t()> left) { left_elsewhere_ = std::move(left); }
  size_t left_elsewhere() const { return left_elsewhere_ ? left_elsewhere_() : 0; }
  bool is_pulled() const;
  void set_pulled(bool pulled);
  // Until forget_drain(), notifies `signal`, which lives as long, of a drain, new settings and slots_freed().
  void notify_on_drain(Signal& signal);
  void forget_drain(Signal& signal);
  // True if a take would find something now, expired tasks included.
  Async<Result<bool>> has_work();
  // The work begins on a task that was taken with `starts_later`. `waiting_since` is what the take returned.
  void started(std::optional<WallTime> waiting_since);
  // The reason why the task must not be started any more; empty if it may be.
  std::string_view stale(const ItemRef& task);
  // The runner did not take the task. `reachable`: it was reached and refused. True if it took tasks before, or was
  // reached.
  bool bounced(const ItemRef& task, DownstreamRefusal how, std::string_view reason, bool reachable);
  // The downstream call for a task ended, with or without an answer. True if the limit of its group or key is learnt.
  bool answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                std::optional<double> cost);
  // Settles in the background. If the store stops before that is done, the settlements are lost.
  void settle_later(std::vector<Settlement> settlements);
  // The facts that all runs of processors have learnt about their runner.
  Downstream& downstream();
  // The duration of a held task's lease: the task's own, or the queue's default.
  milliseconds lease_duration(const ItemRef& task) const;
  // The units of a limit that the task uses: its cost or 1, by RATE_COUNTS.
  double units_of(const ItemRef& task) const;

  // These are for metrics. Counts are since the start.

  // Describes what the queue needs and its table currently lacks; null if nothing is missing.
  const Error* broken() const;
  const Pauses& pauses() const;
  size_t held() const;  // Tasks held under leases of this object.
  const KeyLimits& key_limits() const;
  void measure_pickup(Histogram& histogram);  // How long tasks waited for their first start, in seconds.
  const Punctuality& punctuality() const;
  const Refusals& refusals() const;  // Creations that were refused.
  uint64_t unserved() const;         // Tasks that clients wrote without what a task needs to be served.
  uint64_t bounced_tasks() const;

  Async<std::vector<Result<CreatedTask>>> create(std::vector<NewTask> tasks) override;
  Async<Result<std::vector<TakenTask>>> take(TakeInput input) override;
  Async<std::vector<Result<ItemRef>>> settle(std::vector<Settlement> settlements) override;
  Async<Result<ItemRef>> get(std::string id) override;
  Async<Result<TaskPage>> list(ListInput input) override;
  Async<std::vector<Result<ItemRef>>> cancel(std::vector<std::string> ids) override;
  Async<Result<uint64_t>> redrive(RedriveInput input) override;
  Async<Result<QueueStats>> stats() override;
  Async<Result<std::vector<ItemRef>>> sheds(uint32_t limit) override;
  Async<Result<QueueReading>> reading() override;
  Async<Result<QueueShares>> shares(SharesInput input) override;
  QueueHolders holders(uint32_t limit) override;
  Async<Result<Explanation>> explain(std::string id) override;
  QueuePolicy policy() override;
  Result<QueuePolicy> change_policy(const QueuePolicy& changes) override;
  Async<Result<QueuePolicy>> change_policy_for_all(QueuePolicy changes) override;
  Async<Result<void>> keep_policy() override;
  Result<QueuePolicy> check_policy(const QueuePolicy& changes) override;
  Result<InTimeCounts> check_guard(const PolicyGuardTerms& terms) override;
  Result<QueuePolicy> change_policy_guarded(const QueuePolicy& changes, const PolicyGuardTerms& terms,
                                            const InTimeCounts& before) override;
  bool end_guard() override;
  void restore_guard() override;
  PolicyChanges policy_changes(uint64_t from) const override;
  PauseChanges pause_changes() const override;
  bool ttl_in_milliseconds() const override;
  Async<Result<Pause>> pause(PauseInput input, Actor actor) override;
  Async<Result<void>> resume(Pause::Of of, std::string name, Actor actor) override;
  Async<Result<BulkJob>> start_job(BulkInput input, Actor actor) override;
  std::vector<BulkJob> jobs() override;
  Result<BulkJob> job(uint64_t id) override;
  Result<BulkJob> stop_job(uint64_t id, Actor actor) override;

 private:
  explicit Queue(std::unique_ptr<QueueParts> parts);

  std::unique_ptr<QueueParts> parts_;
  std::function<size_t()> left_elsewhere_;
};

}  // namespace freshet
