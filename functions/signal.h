// Tells coroutines that something has happened. Level-triggered: a notify() that comes while nobody waits is kept for
// the next wait. One waiter at a time. Loop thread; outlives its Asyncs.
#pragma once

#include "base/async.h"

namespace freshet {

class Signal {
 public:
  explicit Signal(Scheduler& scheduler) : scheduler_(scheduler), promise_(scheduler) {}

  void notify() { promise_.set(true); }
  // Until notify() or `when`.
  Async<void> wait(BootTime when) {
    if (!promise_.is_set()) {
      struct Timer {
        Scheduler& scheduler;
        TimerId id = 0;
        ~Timer() {
          if (id) scheduler.cancel(id);
        }
      };
      Timer timer{scheduler_};
      if (when != BootTime::max()) timer.id = scheduler_.call_at(when, [promise = promise_] { promise.set(false); });
      co_await promise_.future();
    }
    promise_ = Promise<bool>(scheduler_);
  }

 private:
  Scheduler& scheduler_;
  Promise<bool> promise_;
};

}  // namespace freshet
