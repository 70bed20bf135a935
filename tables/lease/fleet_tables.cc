#include "tables/lease/fleet_tables.h"

#include <string>
#include <utility>

#include "tables/lease/definition_log.h"
#include "tables/lease/events_table.h"
#include "tables/lease/fleet_items.h"
#include "tables/lease/positions_table.h"
#include "tables/lease/schedule_claims.h"
#include "tables/lease/shared_table.h"

namespace freshet {

namespace {

// A queue makes it where it opens its log of sheds (functions/queue/shed_log.h).
constexpr const char* kQueuesTable = "freshet-queues";

TableDefinition table_of(std::string name, KeySchema keys) {
  TableDefinition table;
  table.name = std::move(name);
  table.keys = std::move(keys);
  return table;
}

}  // namespace

std::vector<TableDefinition> fleet_tables(FleetNeeds needs) {
  std::vector<TableDefinition> tables;
  tables.push_back(table_of(kFleetTable, id_keys()));
  tables.push_back(table_of(kEventsTable, events_keys()));
  tables.push_back(table_of(kDefinitionsTable, definitions_keys()));
  if (needs.queues)
    tables.push_back(table_of(kQueuesTable, {{"queue", Type::kString}, KeyAttribute{"slot", Type::kNumber}}));
  if (needs.schedules) tables.push_back(table_of(kSchedulesTable, id_keys()));
  if (needs.mappings) tables.push_back(table_of(kPositionsTable, positions_keys()));
  return tables;
}

}  // namespace freshet
