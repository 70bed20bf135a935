// Clients of the table whose changes drive a function of the fleet (fleet_plan.h, has_mapping).
#pragma once

#include <cstdint>
#include <string>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/fleet/fleet_clients.h"

namespace freshet::fleet_sim {

// The state that an item has in that version.
std::string state_of_version(int64_t version);
// Writes the next version of the item, until it is known to be there.
Async<void> change_item(FleetStage& stage, Random& random, std::string item);
// Writes one item after the other.
Async<void> change_items(FleetStage& stage, Random random);
// Invokes the function asynchronously at that member. `id` names the event.
Async<void> send_event(FleetStage& stage, std::string id, uint16_t port);
// Sends one event after the other, to any member.
Async<void> send_events(FleetStage& stage, Random random);
// Reads the positions in the engine: they go forward only.
Async<void> watch_positions(FleetStage& stage, Random random);

}  // namespace freshet::fleet_sim
