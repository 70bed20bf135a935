// Controlled Delay (RFC 8289) for tasks that are taken oldest first. Queues do not offer it: it cannot see takes that
// go newest first, and it drops tasks that could still be done in time. The overload lab compares policies with it.
// Pure state with an explicit now.
#pragma once

#include <optional>

#include "base/clock.h"

namespace freshet {

class Codel {
 public:
  static constexpr milliseconds kTarget{5};
  static constexpr milliseconds kInterval{100};

  // The task at the head waited for `age`; `last`: nothing waits behind it. True: drop the task, and ask about the next
  // one.
  bool drop(nanoseconds age, bool last, BootTime now);

 private:
  bool above_for_an_interval(nanoseconds age, bool last, BootTime now);
  BootTime control_law(BootTime from) const;

  std::optional<BootTime> first_above_;  // When the age will have been above the target for an interval.
  bool dropping_ = false;
  BootTime next_drop_{};
  uint32_t count_ = 0;  // Drops since dropping began; its root sets the pace.
  uint32_t last_count_ = 0;
};

// The variant for servers (B. Maurer, "Fail at Scale", ACM Queue 2015): tasks may wait as long as the interval, but
// only as long as the target if the queue has not been empty for an interval.
class ServerCodel {
 public:
  void empty(BootTime now) { empty_ = now; }
  bool drop(nanoseconds age, BootTime now) {
    const bool stands = empty_ && now - *empty_ > Codel::kInterval;
    return age > (stands ? Codel::kTarget : Codel::kInterval);
  }

 private:
  std::optional<BootTime> empty_;
};

}  // namespace freshet
