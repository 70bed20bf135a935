// Judges count_states in a fleet: its counters of the table whose changes drive a function, at rest.
#pragma once

#include <string>

#include "base/async.h"
#include "tests/sim/fleet/fleet_clients.h"

namespace freshet::fleet_sim {

// Empty: the counters are what the table has. Otherwise a counter that is not, or not yet.
Async<std::string> miscounted(FleetStage& stage);

}  // namespace freshet::fleet_sim
