// Time, injected. Wall time only labels; every timeout, lease and schedule delay runs on boot time.
#pragma once

#include <chrono>

namespace freshet {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// A point on CLOCK_BOOTTIME: never steps back, counts suspend. Not comparable between boots.
struct BootClock {
  using duration = nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

// A point on the wall, in milliseconds since the epoch. May step in either direction.
using WallTime = std::chrono::sys_time<milliseconds>;

inline int64_t epoch_ms(WallTime t) {
  return t.time_since_epoch().count();
}
inline int64_t epoch_s(WallTime t) {
  return std::chrono::floor<seconds>(t.time_since_epoch()).count();
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;  // Any thread.
  virtual BootTime boot() const = 0;  // Any thread.
};

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  BootTime boot() const override;
};

// A clock that moves only when advance() is called. For tests, replay and the overload lab. One thread.
class SimClock final : public Clock {
 public:
  explicit SimClock(WallTime start) : wall_(start) {}
  WallTime wall() const override { return std::chrono::floor<milliseconds>(wall_); }
  BootTime boot() const override { return boot_; }

  // Both clocks move on by `d` (>= 0).
  void advance(nanoseconds d);
  // Moves boot time to `t` if that is later, and wall time by the same distance.
  void advance_to(BootTime t);
  // Sets the wall clock forward or back, as an administrator would; boot time does not move.
  void step_wall(milliseconds d) { wall_ += d; }

 private:
  std::chrono::sys_time<nanoseconds> wall_;
  BootTime boot_{};
};

}  // namespace freshet
