// What a daemon does every now and then while it serves: it tells the service manager's watchdog that it lives, and
// gives memory back that nobody uses.
//
// Loop thread. Loop and store outlive it; its timers go with the loop.
#pragma once

#include "runtime/loop/loop.h"
#include "tables/engine/embedded.h"

namespace freshet {

class Upkeep {
 public:
  explicit Upkeep(Loop& loop) : loop_(loop) {}
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  void begin(const EmbeddedTables& store);  // Once.

 private:
  void give_back_memory();
  void keep_watchdog(milliseconds interval);

  Loop& loop_;
  const EmbeddedTables* store_ = nullptr;
  uint64_t most_memory_ = 0;  // The store's peak since the loop's thread last gave back its cache.
};

// Whether all writes are durable within `limit`. On a full disk the last ones may wait for space that never comes. What
// it leaves waiting belongs to the scope.
Async<bool> durable_within(Tables& store, Scheduler& scheduler, Scope& scope, milliseconds limit);

}  // namespace freshet
