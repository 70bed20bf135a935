// The template that the members of a simulated fleet deploy.
#pragma once

#include <string>

#include "tests/sim/fleet/fleet_plan.h"

namespace freshet::fleet_sim {

// config/lifo.yaml, with what the plan has besides. Empty if that is nothing.
std::string template_of(const FleetRunPlan& plan);

}  // namespace freshet::fleet_sim
