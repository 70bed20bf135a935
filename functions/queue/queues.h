// All queues of this daemon, by the name of their table. Loop thread. Services outlive it; it outlives every Async that
// a queue returned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "functions/by_name.h"
#include "functions/queue/named_turns.h"
#include "functions/queue/queue.h"

namespace freshet {

class Queues final : public TaskQueues {
 public:
  // With `metrics`, each queue keeps the histogram freshet_queue_pickup_seconds. `wall` decides whether the wall clock
  // is trusted. Without it, jumps are noticed, but not a clock that is wrong from the start. `audit` is the store's
  // audit log; without it, the queues make their own. All outlive the queues.
  Queues(Services& services, EventLog log, QueueIdentity identity, Metrics* metrics = nullptr,
         WallGuard* wall = nullptr, AuditLog* audit = nullptr);
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // Makes the table a queue. If it is one already, changes its settings. Errors as Queue::open(). Waits for another
  // open() of the same table.
  Async<Result<Queue*>> open(std::string table, QueueSettings settings);
  // Null if there is none.
  Queue* find_queue(std::string_view table) const;
  std::vector<Queue*> all() const;  // Sorted by name.

  TaskQueue* find(std::string_view name) override { return find_queue(name); }
  std::vector<std::string> names() const override { return queues_.names(); }

  // The audit log for pauses and jobs of all queues.
  AuditLog& audit() { return audit_; }

  // One line for each queue whose table lacks something that the queue needs; empty if none does.
  std::string broken() const;
  // At readiness. Queues that are opened later begin at once.
  void begin();
  // At shutdown: from now on takes are refused, and no `Start` is published.
  void drain();
  // After drain(): waits until this daemon holds no task, but not beyond `deadline`. True if it holds none.
  Async<bool> all_returned(BootTime deadline);
  // After drain(), when no claim can be settled any more: gives back all held tasks.
  Async<void> release_held();

 private:
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
  ByName<Queue> queues_;
  NamedTurns opening_{services_.scheduler};
};

}  // namespace freshet
