// Waits for a promise, for a bounded time. Loop thread.
#pragma once

#include "base/async.h"

namespace freshet {

// Returns the value of the promise. If nobody has set it by `end`, it becomes false. The scheduler outlives the Async.
inline Async<bool> set_by(BootTime end, Promise<bool> promise, Scheduler& scheduler) {
  struct Timer {
    Scheduler& scheduler;
    TimerId id;
    ~Timer() { scheduler.cancel(id); }
  };
  const Timer timer{scheduler, scheduler.call_at(end, [promise] { promise.set(false); })};
  const bool value = co_await promise.future();
  co_return value;
}

}  // namespace freshet
