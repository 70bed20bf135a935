// All queues of this daemon, by the name of their table. Loop thread. Services outlive it; it outlives every Async that
// a queue returned.
//
// A queue can be closed while the daemon goes on, as another daemon serves it from then on, and can be opened again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "functions/queue/named_turns.h"
#include "functions/queue/queue.h"
#include "runtime/api/create_elsewhere.h"

namespace freshet {

class RunSharing;

class Queues final : public TaskQueues {
 public:
  // With `metrics`, each queue keeps the histogram freshet_queue_pickup_seconds. `wall` decides whether the wall clock
  // is trusted. Without it, jumps are noticed, but not a clock that is wrong from the start. `audit` is the store's
  // audit log; without it, the queues make their own. All outlive the queues.
  Queues(Services& services, EventLog log, QueueIdentity identity, Metrics* metrics = nullptr,
         WallGuard* wall = nullptr, AuditLog* audit = nullptr);
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // Says which tables may be opened. It is called before a table becomes a queue, and again just before the queue can
  // be found. Without it, all may.
  using MayOpen = std::function<bool(const std::string& table)>;
  void open_only(MayOpen may) { may_open_ = std::move(may); }
  bool may_open(const std::string& table) const { return !may_open_ || may_open_(table); }

  // For functions that create tasks of a queue that may not be opened here. Without it, they fail.
  void set_create_elsewhere(CreateElsewhere create) { create_elsewhere_ = std::move(create); }
  const CreateElsewhere& create_elsewhere() const { return create_elsewhere_; }

  // Says how many tasks of a queue are still in work at other daemons that served it before: they count against its
  // limits. Without it, none are.
  using LeftElsewhere = std::function<size_t(const std::string& table)>;
  void set_left_elsewhere(LeftElsewhere left) { left_elsewhere_ = std::move(left); }
  // Those, and the ones that this daemon still has from when it served the queue before.
  size_t left_elsewhere(const std::string& table) const;
  // By table: the tasks of closed queues that this daemon has in work.
  std::map<std::string, size_t> left_in_work() const;

  // Null: each task runs in this daemon. It outlives the queues.
  void set_run_sharing(RunSharing* sharing) { run_sharing_ = sharing; }
  RunSharing* run_sharing() const { return run_sharing_; }

  // Makes the table a queue; one that is a queue already keeps its settings. Errors as Queue::open() says, and
  // kUnavailable if it may not be opened. While another open() of the same table is under way, this one waits for it.
  Async<Result<std::shared_ptr<Queue>>> open(std::string table, QueueSettings settings);
  // The same for a deployment: a queue gets these settings, and changes of its policy end.
  Async<Result<std::shared_ptr<Queue>>> deploy(std::string table, QueueSettings settings);
  // From now on the queue is not found, gives out nothing and does nothing by itself: waiting takes are refused
  // (kUnavailable). Work in this daemon goes on under its leases; tasks of pull workers are left to the daemon that
  // serves the queue. The queue is destroyed once nothing is in work, and nobody has a pointer to it. No effect if
  // there is none.
  void close(const std::string& table);
  // Closed queues that are not destroyed yet.
  size_t closing() const { return closed_.size(); }
  // Null if there is none.
  std::shared_ptr<Queue> find_queue(std::string_view table) const;
  std::vector<std::shared_ptr<Queue>> all() const;  // Sorted by name.

  WallGuard& wall_guard() { return wall_; }
  std::shared_ptr<TaskQueue> find(std::string_view name) override { return find_queue(name); }
  std::vector<std::string> names() const override;

  // The audit log for pauses and jobs of all queues.
  AuditLog& audit() { return audit_; }

  // One line for each queue whose table lacks something that the queue needs; empty if none does.
  std::string broken() const;
  // At readiness. Queues that are opened later begin at once.
  void begin();
  // At shutdown: from now on takes are refused, and no `Start` is published.
  void drain();
  // After drain(): waits until nothing is held under leases of this daemon, in closed queues too, or until `deadline`.
  // True if nothing is.
  Async<bool> all_returned(BootTime deadline);
  // After drain(), when no claim can be settled any more: gives back all held tasks, in all queues at once, until `end`
  // at most. Then it logs the queues that are not done (LEASES_NOT_RELEASED), and goes on with them.
  Async<void> release_held(BootTime end);

 private:
  Async<void> sweep();
  static Async<void> release(std::shared_ptr<Queue> queue, Promise<bool> done);

  Services& services_;
  const EventLog log_;
  const QueueIdentity identity_;
  Metrics* const metrics_;
  AuditLog own_audit_;
  AuditLog& audit_;
  WallGuard own_wall_;
  WallGuard& wall_;
  bool begun_ = false;
  bool draining_ = false;
  std::map<std::string, std::shared_ptr<Queue>, std::less<>> queues_;
  std::vector<std::shared_ptr<Queue>> closed_;
  std::map<std::string, uint64_t> opens_;  // The number of times that each table was opened.
  MayOpen may_open_;
  CreateElsewhere create_elsewhere_;
  LeftElsewhere left_elsewhere_;
  RunSharing* run_sharing_ = nullptr;
  NamedTurns opening_{services_.scheduler};
  Scope sweeps_;  // While there are closed queues, one sweep().
  Scope releases_;
};

}  // namespace freshet
