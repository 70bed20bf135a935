// Work that goes on although whoever asked for it goes away: a client that hangs up ends the Async that it waits for.
#pragma once

#include <utility>

#include "base/async.h"

namespace freshet {

// To be spawned in a scope that outlives the asking; `done` is what the asking waits for.
template <class T>
Async<void> hand_over(Async<T> work, Promise<T> done) {
  auto result = co_await work;
  done.set(std::move(result));
}

}  // namespace freshet
