// Serialises changes that must not overlap: each begins when the one before it is done, in the order of the calls.
//
// A change reads the state, decides, writes, waits for the store, and then updates memory. Two overlapping changes
// could both decide on the same old state, or update memory in another order than they wrote. Loop thread only.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "base/async.h"
#include "base/scheduler.h"

namespace freshet {

class Turns {
 public:
  // The scheduler outlives it. Destroying it ends the running change; a caller that still waits is never resumed.
  explicit Turns(Scheduler& scheduler) : scheduler_(scheduler) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Runs `change` in its turn, even if the caller goes away meanwhile. Ready at once if nothing is ahead of it and the
  // change itself is ready at once. Everything that `change` holds is copied.
  template <class T>
  Async<T> run(std::function<Async<T>()> change) {
    if (busy_) {
      const Promise<T> done(scheduler_);
      waiting_.push_back([change = std::move(change), done] { return resolve(change(), done); });
      return result_of(done);
    }
    busy_ = true;
    Async<T> work = change();
    if (work.is_ready() && waiting_.empty()) {
      busy_ = false;
      return work;
    }
    const Promise<T> done(scheduler_);
    scope_.spawn(begin_with(resolve(std::move(work), done)));
    return result_of(done);
  }

 private:
  template <class T>
  static Async<void> resolve(Async<T> work, Promise<T> done) {
    T result = co_await work;
    done.set(std::move(result));
  }
  template <class T>
  static Async<T> result_of(Promise<T> done) {
    T result = co_await done.future();
    co_return result;
  }
  Async<void> begin_with(Async<void> first) {
    co_await first;
    while (!waiting_.empty()) {
      const auto next = std::move(waiting_.front());
      waiting_.pop_front();
      auto work = next();
      co_await work;
    }
    busy_ = false;
  }

  Scheduler& scheduler_;
  bool busy_ = false;
  std::deque<std::function<Async<void>()>> waiting_;
  Scope scope_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
