// Makes tables that our functions need.
#pragma once

#include "tables/tables.h"

namespace freshet {

// The definition of the existing table, or of the one that it makes as wanted. The errors name it. `tables` outlives
// it.
Async<Result<TableDefinition>> provide_table(Tables& tables, TableDefinition wanted);

}  // namespace freshet
