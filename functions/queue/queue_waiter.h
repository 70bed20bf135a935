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
    if (called_ && !looked_) queue_.wake();
  }

  // Until work may be there or `until` has come.
  Async<void> wait(BootTime until) {
    if (until != BootTime::max()) {
      timer_ = queue_.services_.scheduler.call_at(until, [due = due_] { due.set(false); });
    }
    co_await due_.future();
    looked_ = true;
  }

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
};

}  // namespace freshet
