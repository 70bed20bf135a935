// Decides if the wall clock can be trusted, and tells the time while it cannot. Loop thread only.
//
// The wall clock may jump: somebody sets it, or a machine boots with a wrong one and is corrected later. Code that acts
// on wall time and cannot undo it (removing expired items, trimming streams, shedding tasks, firing schedules) asks the
// guard first.
#pragma once

#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/clock_sync.h"

namespace freshet {

// A change of the guard's verdict.
struct WallDoubt {
  bool over = false;      // True if the wall clock is trusted again.
  bool at_start = false;  // True if the doubt is about the time that passed before the start.
  milliseconds ahead{0};  // How far the wall clock is ahead of the time that was believed; negative if it is behind.
};

class WallGuard {
 public:
  struct Options {
    milliseconds limit{60'000};       // A smaller jump is accepted at once.
    milliseconds pause{60'000};       // A larger jump is accepted once the wall clock has run evenly for this long.
    const ClockSync* sync = nullptr;  // Null if nothing reports whether the clock is synchronised. Outlives the guard.
    std::function<void(const WallDoubt&)> on_change = {};
  };
  // Trusts the wall clock as it is now. The clock outlives the guard.
  explicit WallGuard(const Clock& clock) : WallGuard(clock, Options()) {}
  WallGuard(const Clock& clock, Options options);
  WallGuard(const WallGuard&) = delete;
  WallGuard& operator=(const WallGuard&) = delete;

  // Call this at a start: `last` is the wall time of the last write. If the wall clock is more than `limit` ahead
  // of that, time may have passed, or the clock is wrong. It is then trusted once it is back in line with `last`, has
  // gone on evenly for `pause`, or is synchronised.
  void start_after(WallTime last);

  // True if the wall clock keeps step with boot time. After a jump by more than `limit` it is not trusted until it is
  // back in line with its earlier time, or has gone on evenly for `pause`.
  bool trusted();
  // The wall clock if it is trusted; otherwise the time that it would show without the jump.
  WallTime reckoned();
  // The earliest of reckoned() and of all wall times that were seen since the doubt began: anything that has expired by
  // this time has certainly expired.
  WallTime earliest();
  // The later one of reckoned() and of the wall clock. Count a time that a client gives relative to now from here:
  // while the clock is in doubt, it then does not end too early, whichever of the two turns out to be right.
  WallTime latest();
  // The last result of trusted().
  bool doubts() const { return jump_.has_value(); }
  // The next time at which trusted() may change without a jump; BootTime::max() for never.
  BootTime next_look() const;

 private:
  struct Jump {
    milliseconds to;
    BootTime at{};
    milliseconds lowest;  // The lowest offset since the doubt began.
  };
  milliseconds offset() const;  // Wall minus boot.
  bool near(milliseconds a, milliseconds b) const { return a - b <= options_.limit && b - a <= options_.limit; }
  void believe(milliseconds offset);

  const Clock& clock_;
  const Options options_;
  milliseconds believed_;  // Wall minus boot.
  std::optional<Jump> jump_;
  bool at_start_ = false;
};

}  // namespace freshet
