// A take that waits for work. Private to Queue.
//
// Work wakes one waiter at a time; a waiter that was woken and filled its hands wakes the next one. One that is
// destroyed (its client hung up) before it could look passes the call on.
#pragma once

#include "functions/queue/queue.h"

namespace freshet {

class Queue::Waiter {
 public:
  explicit Waiter(Queue& queue) : queue_(queue), due_(queue.services_.scheduler) {
    place_ = queue_.waiters_.insert(queue_.waiters_.end(), this);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    if (timer_) queue_.services_.scheduler.cancel(timer_);
    if (listed_) queue_.waiters_.erase(place_);
    if (watches()) queue_.rate_watcher_ = nullptr;
    // A waiter that was woken, or would wake the others, passes that on before it goes.
    if ((called_ || watched_) && !looked_) queue_.wake();
  }

  // Until RATE_LIMIT may let another one start or `until` has come. One waiter looks at the rate; the others wait for
  // it to call.
  Async<void> wait_for_rate(BootTime until) {
    if (queue_.rate_watcher_ == nullptr) {
      queue_.rate_watcher_ = this;
      watched_ = true;
      until = std::min(until, queue_.core_.limits.downstream().next(queue_.boot()));
    }
    co_await wait(until);
  }

  // Until work may be there or `until` has come.
  Async<void> wait(BootTime until) {
    if (until != BootTime::max()) {
      timer_ = queue_.services_.scheduler.call_at(until, [due = due_] { due.set(false); });
    }
    co_await due_.future();
    looked_ = true;
  }

  bool watches() const { return queue_.rate_watcher_ == this; }
  void wake() {
    called_ = true;
    listed_ = false;
    queue_.waiters_.erase(place_);
    due_.set(true);
  }

 private:
  Queue& queue_;
  Promise<bool> due_;
  std::list<Waiter*>::iterator place_;
  TimerId timer_ = 0;
  bool listed_ = true;
  bool called_ = false;
  bool looked_ = false;
  bool watched_ = false;
};

}  // namespace freshet
