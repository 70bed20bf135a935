// Holds back what the wall clock ends, while it cannot be trusted. Loop thread only.
#pragma once

#include <optional>

#include "base/clock.h"

namespace freshet {

// Whether the wall clock goes on evenly against boot time. A jump by more than `limit` is not believed until the wall
// is back in line with what it was before, or has gone on evenly for `pause` where it jumped to.
class WallGuard {
 public:
  // What the wall shows now is believed.
  WallGuard(const Clock& clock, nanoseconds limit, nanoseconds pause)
      : clock_(clock), limit_(limit), pause_(pause), believed_(offset()) {}
  bool trusted();

 private:
  nanoseconds offset() const;
  bool near(nanoseconds a, nanoseconds b) const { return a - b <= limit_ && b - a <= limit_; }

  const Clock& clock_;
  const nanoseconds limit_;
  const nanoseconds pause_;
  nanoseconds believed_;  // Wall minus boot.
  std::optional<nanoseconds> jumped_to_;
  BootTime jumped_at_{};
};

}  // namespace freshet
