// Lets work go on after its caller is gone: a client that hangs up destroys the Async that it waits for.
#pragma once

#include <utility>

#include "base/async.h"

namespace freshet {

// Spawn it in a scope that outlives the caller. The caller waits for `done`.
template <class T>
Async<void> hand_over(Async<T> work, Promise<T> done) {
  auto result = co_await work;
  done.set(std::move(result));
}

}  // namespace freshet
