// Clients that change the policies of queues, and read them (fleet_plan.h, has_policies).
#pragma once

#include <string>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/fleet/fleet_clients.h"

namespace freshet::fleet_sim {

// Sets a setting of the queue to a value that it never had, at that member. True once it is acknowledged.
Async<bool> change_policy(FleetStage& stage, std::string queue, std::string setting, uint16_t port);
// Reads the policy at that member, and judges it. True if there was an answer.
Async<bool> read_policy(FleetStage& stage, std::string queue, uint16_t port);
Async<void> change_policies(FleetStage& stage, Random random);
Async<void> read_policies(FleetStage& stage, Random random);

}  // namespace freshet::fleet_sim
