// Decides from which end of the queue the next take goes: the newest or the oldest. Pure state with an explicit now.
#pragma once

#include "functions/queue/policy/standing_queue.h"
#include "functions/settings.h"

namespace freshet {

class TakeOrder {
 public:
  explicit TakeOrder(Order order) : order_(order) {}

  // Sets the order for future takes.
  void set(Order order) { order_ = order; }
  // A take begins: the only event that turns the order around. `service`: the p90 of how long tasks take; 0 if it is
  // not known.
  void take_begins(BootTime now, nanoseconds service) {
    if (order_ == Order::kAdaptive) standing_.take_begins(now, service);
  }
  bool newest_first(BootTime now, nanoseconds service) const {
    return order_ == Order::kNewestFirst || (order_ == Order::kAdaptive && standing_.stands(now, service));
  }
  // Reports of takes about what they found, whatever the order.
  void found_empty(BootTime now) { standing_.empty(now); }
  void took_oldest(nanoseconds age, BootTime now) { standing_.took_oldest(age, now); }

 private:
  Order order_;
  StandingQueue standing_;
};

}  // namespace freshet
