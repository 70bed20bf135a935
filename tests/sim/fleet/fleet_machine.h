// One run of the simulated fleet: an engine, members that serve its queues, clients that use them, faults on
// everything, and judges. One thread; the seed decides everything.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "tests/sim/fleet/fleet_plan.h"

namespace freshet::fleet_sim {

struct FleetRunOptions {
  bool print = false;  // The trace, while it runs.
};

struct FleetRunResult {
  bool holds = true;
  std::string promise;  // The one that was broken, and how.
  std::string what;
  uint64_t steps = 0;
  uint64_t lives = 0;
  uint64_t operations = 0;
  uint64_t hash = 0;  // The trace's.
  std::map<std::string, uint64_t> seen;
  std::deque<std::string> last;  // Lines of the trace before the end.
};

FleetRunResult run_fleet(const FleetRunPlan& plan, const FleetRunOptions& options);

}  // namespace freshet::fleet_sim
