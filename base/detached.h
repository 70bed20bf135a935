// Work that goes on to its end, also if the one who asked for it goes away meanwhile: a client that hangs up must not
// leave a change that is written and not yet said in memory. Loop thread only.
#pragma once

#include <functional>
#include <utility>

#include "base/async.h"
#include "base/scheduler.h"

namespace freshet {

class Detached {
 public:
  // The scheduler outlives it. Its end ends all work that is under way; who waits for that waits for ever.
  explicit Detached(Scheduler& scheduler) : scheduler_(scheduler) {}
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;

  // Begins at once, and is ready at once if the work is. What `work` holds lives until the work has ended.
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
    Async<T> work = std::move(begun);  // Ends before what it works on.
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
