// Decides if a queue stands, that is, has waiting work that does not drain. This is CoDel's signal (target and interval
// of RFC 8289), but computed from when the queue was last empty and from the age of its oldest task. The age of tasks
// that are taken newest first says nothing. Pure state with an explicit now.
//
// A queue stands once it has been neither empty nor young (its oldest task younger than `target`) for an interval,
// until it is found empty. The interval is 100 ms, as in the RFC. If tasks take long, it is twice the p90 of their
// service times, as the RFC wants an interval of the worst round trip. Otherwise, with tasks of 100 ms, a queue that
// drains is often not empty for 100 ms, and would change its order needlessly. A queue without takes counts as not
// empty.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace freshet {

class StandingQueue {
 public:
  static constexpr milliseconds kTarget{5};
  static constexpr milliseconds kInterval{100};

  // A take found the queue empty.
  void empty(BootTime now) {
    good_ = now;
    stands_ = false;
  }
  // A take took the oldest task.
  void took_oldest(nanoseconds age, BootTime now) {
    if (age < kTarget) good_ = now;
  }
  // A take begins. The queue counts as empty before the first one. If it stands now, it stands until it is found empty.
  // `service`: the p90 of how long tasks take (0: not known).
  void take_begins(BootTime now, nanoseconds service) {
    if (!good_) good_ = now;
    stands_ = stands(now, service);
  }
  bool stands(BootTime now, nanoseconds service) const { return stands_ || since(now) >= interval(service); }
  // How long a queue may be neither empty nor young before it stands.
  static nanoseconds interval(nanoseconds service) { return std::max<nanoseconds>(kInterval, 2 * service); }
  // The time for which it has been neither empty nor young.
  nanoseconds since(BootTime now) const { return good_ ? now - *good_ : nanoseconds(0); }

 private:
  std::optional<BootTime> good_;  // When it was last empty or young.
  bool stands_ = false;
};

}  // namespace freshet
