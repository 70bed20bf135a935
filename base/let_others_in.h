// Long work on the loop, in pieces: between two of them others have their turn.
#pragma once

#include "base/async.h"

namespace freshet {

// Ready when what was waiting for the loop has had its turn. The scheduler outlives it.
inline Async<void> let_others_in(Scheduler& scheduler) {
  Promise<bool> next(scheduler);
  scheduler.post([next] { next.set(true); });
  co_await next.future();
}

}  // namespace freshet
