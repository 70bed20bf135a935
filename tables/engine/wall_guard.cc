#include "tables/engine/wall_guard.h"

namespace freshet {

nanoseconds WallGuard::offset() const {
  return clock_.wall().time_since_epoch() - clock_.boot().time_since_epoch();
}

bool WallGuard::trusted() {
  const nanoseconds now = offset();
  if (near(now, believed_)) {
    believed_ = now;  // Follows the small steps of a clock that is kept right.
    jumped_to_.reset();
    return true;
  }
  if (!jumped_to_ || !near(now, *jumped_to_)) {
    jumped_to_ = now;
    jumped_at_ = clock_.boot();
  }
  if (clock_.boot() - jumped_at_ < pause_) return false;
  believed_ = now;
  jumped_to_.reset();
  return true;
}

}  // namespace freshet
