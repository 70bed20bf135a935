// The periodic work of a daemon that serves: it notifies the service manager's watchdog, and returns unused memory to
// the system.
//
// Loop thread. Loop and store must outlive it; its timers end with the loop.
#pragma once

#include "runtime/loop/loop.h"
#include "tables/engine/embedded.h"

namespace freshet {

class Upkeep {
 public:
  explicit Upkeep(Loop& loop) : loop_(loop) {}
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  void begin(const EmbeddedTables& store);  // Call it once.

 private:
  void give_back_memory();
  void keep_watchdog(milliseconds interval);

  Loop& loop_;
  const EmbeddedTables* store_ = nullptr;
  uint64_t most_memory_ = 0;  // The store's peak since the loop's thread last gave back its cache.
};

// Waits until all writes are durable, for `limit` at most; returns false if some are not. On a full disk the last ones
// may wait for space that never comes: that wait continues in the scope.
Async<bool> durable_within(Tables& store, Scheduler& scheduler, Scope& scope, milliseconds limit);

// The deadline, or `least` from now if that is later.
BootTime later_of(BootTime deadline, milliseconds least, const Scheduler& scheduler);

// Waits for `work` until `end` at most; returns false if it goes on, in the scope.
Async<bool> over_by(BootTime end, Async<void> work, Scheduler& scheduler, Scope& scope);

}  // namespace freshet
