// Decides when to try a downstream again that has refused. Pure state with an explicit now.
//
// Closed: everything may start. A refusal opens the breaker, for kPause or for the time that the downstream asked for
// (Retry-After, up to kLongest). Then it is half open: one task may start every kPause. The first one that is accepted
// closes it. Earlier work that ends well also closes it, because there is room again, but not before the time that the
// downstream asked for.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace freshet {

class Breaker {
 public:
  static constexpr milliseconds kPause{500};
  static constexpr milliseconds kLongest{600'000};

  // `asked`: the pause that the downstream asked for, if any.
  void refused(std::optional<milliseconds> asked, BootTime now) {
    closed_ = false;
    if (asked) asked_until_ = std::max(asked_until_, now + std::clamp(*asked, milliseconds(0), kLongest));
    next_ = std::max(now + kPause, asked_until_);
  }
  // A call ended that the downstream had accepted, whatever its result.
  void accepted(BootTime now) { closed_ = closed_ || now >= asked_until_; }

  // How many of `wanted` may start now.
  size_t allowed(BootTime now, size_t wanted) const {
    return closed_ ? wanted : std::min<size_t>(wanted, now >= next_);
  }
  // Notes that this many tasks were started.
  void started(size_t tasks, BootTime now) {
    if (!closed_ && tasks > 0) next_ = now + kPause;
  }
  // When the next one may start, if nothing is accepted before.
  BootTime next(BootTime now) const { return closed_ ? now : std::max(now, next_); }
  bool open() const { return !closed_; }

 private:
  bool closed_ = true;
  BootTime asked_until_{};
  BootTime next_{};
};

}  // namespace freshet
