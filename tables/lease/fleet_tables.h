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

std::vector<TableDefinition> fleet_tables(FleetNeeds needs);

}  // namespace freshet
