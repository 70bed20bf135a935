// Compares the wall clock of a member that joins a fleet with that of the fleet's leader. Tasks are ordered by the
// clock of the member that serves their queue, so a member whose clock is off would start them in a wrong order.
//
// Each heartbeat has the wall time at which it was made. It was made before the read that shows it ended. A heartbeat
// that a read shows, and that the read before it did not show, was written after that one began. These two bounds leave
// an error of the time from one read to the end of the next one, and of the time that the leader's write takes. So read
// each kLongestPause at least while the verdict is open. The first read suffices if the heartbeat seems to be less than
// a second old, and the leader makes one each second at least.
//
// Pure. Loop thread.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "tables/lease/fleet_items.h"

namespace freshet {

class ClockCheck {
 public:
  static constexpr milliseconds kMostOff{1000};

  enum class Verdict {
    kUnknown,  // No new heartbeat of a leader has been seen yet.
    kAgrees,   // This is never taken back: only a member that joins is refused.
    kDiffers,
  };
  static constexpr milliseconds kLongestPause{250};

  // A read of all heartbeats began and ended at these times of this member's wall clock. `leader`: the heartbeat of the
  // living leader. Call it in the order in which the reads began.
  void saw(const MemberBeat& leader, WallTime begun, WallTime ended);
  // This member leads, so its clock is the one that counts.
  void leads() { verdict_ = Verdict::kAgrees; }

  Verdict verdict() const { return verdict_; }
  // By how much this clock is ahead of the leader's, at least; negative if it is behind. For kDiffers.
  milliseconds off() const { return off_; }

 private:
  // The leader's heartbeat that was seen last.
  struct Seen {
    std::string life;
    uint64_t beat = 0;
    WallTime begun{};  // The beginning of the last read that showed it.
  };
  static constexpr int kLateBeats = 3;  // A single heartbeat may have been on its way for long.

  void compare(const MemberBeat& leader, WallTime begun, WallTime ended);

  Verdict verdict_ = Verdict::kUnknown;
  milliseconds off_{0};
  std::optional<Seen> seen_;
  int late_ = 0;  // Heartbeats in a row that seem to be too old.
};

}  // namespace freshet
