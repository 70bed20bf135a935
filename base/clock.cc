#include "base/clock.h"

#include <ctime>

#include "base/check.h"

namespace freshet {
namespace {

nanoseconds read_clock(clockid_t id) {
  timespec t{};
  FRESHET_CHECK(clock_gettime(id, &t) == 0, "the system clock cannot be read");
  return seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

}  // namespace

WallTime SystemClock::wall() const {
  return WallTime(std::chrono::floor<milliseconds>(read_clock(CLOCK_REALTIME)));
}

BootTime SystemClock::boot() const {
  return BootTime(read_clock(CLOCK_BOOTTIME));
}

void SimClock::advance(nanoseconds d) {
  FRESHET_CHECK(d >= nanoseconds(0), "boot time never steps back");
  boot_ += d;
  wall_ += d;
}

void SimClock::advance_to(BootTime t) {
  if (t > boot_) advance(t - boot_);
}

}  // namespace freshet
