// Publishers of the fleet's FIFO topic (fleet_plan.h, has_topic).
#pragma once

#include <string>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/fleet/fleet_clients.h"

namespace freshet::fleet_sim {

// Publishes the message at that member. True once it was accepted.
Async<bool> publish_message(FleetStage& stage, std::string id, std::string group, uint16_t port);
// Publishes one message after the other, at any member, until each is accepted or given up; some are sent again.
Async<void> publish_messages(FleetStage& stage, Random random, std::string name);

}  // namespace freshet::fleet_sim
