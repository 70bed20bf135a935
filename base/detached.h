// Runs work to its end even if its caller goes away meanwhile. Without it, a client that hangs up could leave a change
// that is in the store and not in memory. Loop thread only.
#pragma once

#include <functional>
#include <utility>

#include "base/async.h"
#include "base/scheduler.h"

namespace freshet {

class Detached {
 public:
  // The scheduler outlives it. Destroying it ends all running work; a caller that still waits is never resumed.
  explicit Detached(Scheduler& scheduler) : scheduler_(scheduler) {}
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;

  // Starts at once, and is ready at once if the work is. Everything that `work` holds lives until the work has ended.
  template <class T>
  Async<T> run(std::function<Async<T>()> work) {
    Async<T> begun = work();
    if (begun.is_ready()) return begun;
    const Promise<T> done(scheduler_);
    scope_.spawn(finish<T>(std::move(work), std::move(begun), done));
    return result_of<T>(done);
  }

 private:
  template <class T>
  static Async<void> finish([[maybe_unused]] std::function<Async<T>()> held, Async<T> begun, Promise<T> done) {
    Async<T> work = std::move(begun);  // Destroyed before `detached`'s inputs, which the running work uses.
    T result = co_await work;
    done.set(std::move(result));
  }
  template <class T>
  static Async<T> result_of(Promise<T> done) {
    T result = co_await done.future();
    co_return result;
  }

  Scheduler& scheduler_;
  Scope scope_;
};

}  // namespace freshet
