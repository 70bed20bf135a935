// Splits long work on the loop into pieces, so that other work can run between them.
#pragma once

#include "base/async.h"

namespace freshet {

// Ready once all work that was waiting for the loop has had its turn. The scheduler outlives it.
inline Async<void> let_others_in(Scheduler& scheduler) {
  Promise<bool> next(scheduler);
  scheduler.post([next] { next.set(true); });
  co_await next.future();
}

}  // namespace freshet
