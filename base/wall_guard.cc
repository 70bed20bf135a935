#include "base/wall_guard.h"

#include <algorithm>
#include <utility>

#include "base/points.h"

namespace freshet {

namespace {
constexpr seconds kLook{1};  // How often it asks the kernel.
}  // namespace

WallGuard::WallGuard(const Clock& clock, Options options)
    : clock_(clock), options_(std::move(options)), believed_(offset()) {}

// In milliseconds: a time from a file may be further away than nanoseconds can express.
milliseconds WallGuard::offset() const {
  return clock_.wall().time_since_epoch() - std::chrono::floor<milliseconds>(clock_.boot().time_since_epoch());
}

void WallGuard::start_after(WallTime last) {
  last = std::max(last, WallTime{});
  if (clock_.wall() <= last || clock_.wall() - last <= options_.limit) return;
  believed_ = last.time_since_epoch() - std::chrono::floor<milliseconds>(clock_.boot().time_since_epoch());
  at_start_ = true;
  trusted();
}

void WallGuard::believe(milliseconds offset) {
  const WallDoubt doubt{true, at_start_, offset - believed_};
  const bool reported = jump_.has_value();
  believed_ = offset;  // Follows the small corrections of a synchronised clock.
  jump_.reset();
  at_start_ = false;
  if (reported && options_.on_change) options_.on_change(doubt);
}

bool WallGuard::trusted() {
  const milliseconds now = offset();
  if (near(now, believed_)) {
    believe(now);
    return true;
  }
  // While the daemon runs, that does not excuse a jump: the kernel said yes before the jump, too.
  if (at_start_ && options_.sync && options_.sync->synchronised()) {
    believe(now);
    return true;
  }
  const bool another = !jump_ || !near(now, jump_->to);
  const milliseconds lowest = jump_ ? std::min(jump_->lowest, now) : now;
  if (another) jump_ = Jump{now, clock_.boot(), lowest};
  jump_->lowest = lowest;
  if (clock_.boot() - jump_->at >= options_.pause) {
    believe(now);
    return true;
  }
  if (another && options_.on_change) options_.on_change({false, at_start_, now - believed_});
  return false;
}

WallTime WallGuard::reckoned() {
  if (trusted()) return clock_.wall();
  return WallTime(std::chrono::floor<milliseconds>(clock_.boot().time_since_epoch()) + believed_);
}

WallTime WallGuard::earliest() {
  if (trusted() || FRESHET_PLANTED("sheds-by-a-doubted-clock")) return clock_.wall();
  const milliseconds offset = std::min(believed_, jump_->lowest);
  return WallTime(std::chrono::floor<milliseconds>(clock_.boot().time_since_epoch()) + offset);
}

WallTime WallGuard::latest() {
  const WallTime wall = clock_.wall();
  return trusted() ? wall : std::max(wall, reckoned());
}

BootTime WallGuard::next_look() const {
  if (!jump_) return BootTime::max();
  return std::min<BootTime>(jump_->at + options_.pause, clock_.boot() + kLook);
}

}  // namespace freshet
