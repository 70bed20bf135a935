// Whether the next take goes from the newest or from the oldest end. Pure state with an explicit now.
#pragma once

#include "functions/queue/policy/standing_queue.h"
#include "functions/settings.h"

namespace freshet {

class TakeOrder {
 public:
  explicit TakeOrder(Order order) : order_(order) {}

  // For takes from now on.
  void set(Order order) { order_ = order; }
  bool newest_first(BootTime now) {
    return order_ == Order::kNewestFirst || (order_ == Order::kAdaptive && standing_.stands(now));
  }
  // What takes find, whatever the order.
  void found_empty(BootTime now) { standing_.empty(now); }
  void took_oldest(nanoseconds age, BootTime now) { standing_.took_oldest(age, now); }
  bool stands(BootTime now) { return standing_.stands(now); }

 private:
  Order order_;
  StandingQueue standing_;
};

}  // namespace freshet
