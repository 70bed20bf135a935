// The tables of the shared store that a fleet has besides those of its template. Pure.
#pragma once

#include <vector>

#include "tables/definition.h"

namespace freshet {

// The parts of a fleet's template that need a table.
struct FleetNeeds {
  bool queues = false;
  bool schedules = false;
  bool mappings = false;
};

// Their names and keys.
std::vector<TableDefinition> fleet_tables(FleetNeeds needs);

}  // namespace freshet
