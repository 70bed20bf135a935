// One run of process_tasks: takes the newest eligible tasks into free slots, gives them to the runner, settles them in
// batches, and renews their leases. After its time a run does not make free slots wait for those in use: it leaves its
// work to finish(), and the next run takes tasks into the free slots. Loop thread.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "functions/queue/policy/token_bucket.h"
#include "functions/queue/queue.h"
#include "functions/runners/runner.h"
#include "functions/signal.h"

namespace freshet {

class Processor {
 public:
  struct Counts {
    uint64_t taken = 0;
    uint64_t succeeded = 0;
    uint64_t failed = 0;
    uint64_t bounced = 0;
    uint64_t shed = 0;
    uint64_t lost = 0;  // Tasks whose lease had ended, or that were cancelled.
  };

  // Only the constructor uses `context` and `settings`; their services, the queue and the runner outlive the processor.
  Processor(Context& context, Queue& queue, Runner& runner, const ProcessSettings& settings, const EventLog& log);
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;
  // Ends the running work and gives its tasks back to the queue. That counts as a failure, unless the work had not
  // begun or the queue is draining.
  ~Processor();

  // Stops taking tasks when there has been no work for `linger`, after `max_active`, or when a take has failed (with
  // its error). Then ends when all work has ended or a slot is free: left() is the number of tasks still in work.
  Async<Result<Counts>> run();
  // Tasks that run() left in work: they keep their slots and leases while finish() runs.
  size_t left() const { return left_ ? slots_.size() : 0; }
  // Call it after run(): works until the rest has ended, or the invocation's deadline has come.
  Async<void> finish();

 private:
  struct Slot {
    ItemRef task;
    std::string lease;
    std::optional<WallTime> waiting_since;
    std::optional<Settlement> outcome;  // Set once the work has ended.
    bool stale = false;                 // Expired between its claim and its start.
    bool started = false;               // Its claim is durable: start() no longer uses it.
    std::optional<BootTime> called_at;  // When the runner was given it.
    bool cut_off = false;               // Cancelled or lost before that: it must be given back instead.
    BootTime beat_at{};                 // When its next heartbeat is due.
    std::optional<RatedCall> rated;     // Set when it is claimed.
    std::list<Slot>::iterator self;
    Scope work;
  };

  Async<void> pick();
  Async<Result<void>> take_some(size_t wanted, milliseconds wait, std::optional<double> budget);
  Async<void> start(std::vector<TakenTask> taken);
  Async<void> work_on(Slot& slot);
  void log_transition(std::string_view task, std::string_view from, std::string_view to);
  bool answered(const Slot& slot, CallAnswer answer, const RunResult& result);
  void log_bad_cost(std::string_view task, std::string_view said);
  void report_bounce(const ItemRef& task, const RunResult& result);
  void cut_off(Slot& slot);
  void ended(Slot& slot, RunResult result);
  Async<void> settle_ended();
  Async<void> heartbeat();
  nanoseconds beat_interval(const ItemRef& task) const;
  std::vector<Settlement> due_beats();
  void take_in(const std::vector<Settlement>& beats, std::vector<Result<ItemRef>>& answers);
  bool can_leave();
  void leave();
  void settled(Slot& slot, const Result<ItemRef>& answer);
  Async<void> settle_again_soon();
  size_t slots_wanted();
  const WorkSettings& how() const { return queue_.settings().work; }  // May change at any time.
  BootTime now() const { return services_.scheduler.clock().boot(); }

  Services& services_;
  const std::string function_;  // The function's name, for the log.
  Queue& queue_;
  Runner& runner_;
  const milliseconds linger_;
  const EventLog log_;
  Downstream& downstream_;  // Owned by the queue.

  const BootTime stop_at_;  // No tasks are taken afterwards.
  const BootTime ends_at_;  // The invocation's deadline.
  TokenBucket log_tokens_;  // Limits the log of transitions at level info.
  Counts counts_;
  std::optional<Error> error_;
  bool picking_ = true;
  bool left_ = false;  // True once run() is over.
  Signal freed_;       // A slot became free, in any run; or the queue drains, or its settings changed.
  Signal finished_;    // The same, or: work ended, or taking stopped.
  Signal beat_;        // A heartbeat is due earlier than `next_beat_`.
  BootTime next_beat_ = BootTime::max();
  std::list<Slot> slots_;
  std::vector<Slot*> ended_;  // Slots with an outcome.
  size_t busy_ = 0;           // Slots without an outcome.
  Scope scope_;
};

}  // namespace freshet
