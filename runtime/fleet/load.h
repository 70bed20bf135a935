// How busy the daemons of a fleet are, and how many daemons their work needs. Pure; one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "runtime/fleet/fleet_core.h"

namespace freshet {

// The share of time that a daemon's loop is busy: an exponentially weighted mean with a time constant of kMemory.
class LoadMeter {
 public:
  static constexpr seconds kMemory{10};

  // `busy`: how long the loop has worked since it began; it never falls. Returns percent, 0 to 100.
  int next(nanoseconds busy, BootTime now);

 private:
  nanoseconds busy_{0};
  BootTime at_{};
  double load_ = 0;
};

// A daemon that is busier than that, in percent, has no room for bursts.
inline constexpr int kFullLoad = 70;

// How many daemons the work needs, so that each is at most kFullLoad busy. `loads`: those of the daemons that share it
// now, in percent. At least 1, and at most `units`, because a unit has one daemon.
size_t daemons_wanted(const std::vector<int>& loads, size_t units);
// The same for the living members of the fleet that do not leave.
size_t daemons_wanted(const FleetCore& fleet);

// True for a unit that is the member's own, KIND/ID, as its asynchronous events are: only another unit is shared.
bool is_own_unit(const std::string& unit, const std::string& member);

}  // namespace freshet
