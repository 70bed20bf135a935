// The tables of the shared store that a fleet has besides those of its template. Pure.
#pragma once

#include <vector>

#include "tables/definition.h"

namespace freshet {

// The parts of a fleet's template, besides queues, that need a table.
struct FleetNeeds {
  bool schedules = false;
  bool mappings = false;
};

// Only queues need it. A queue makes it where it opens its log of sheds (functions/queue/shed_log.h).
inline constexpr const char* kQueuesTable = "freshet-queues";

std::vector<TableDefinition> fleet_tables(FleetNeeds needs);

}  // namespace freshet
