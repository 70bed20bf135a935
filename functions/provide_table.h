// Tables that something of ours stands on.
#pragma once

#include "tables/tables.h"

namespace freshet {

// The table's definition as it is, or made as wanted if it is not there. The errors name it. `tables` outlives it.
Async<Result<TableDefinition>> provide_table(Tables& tables, TableDefinition wanted);

}  // namespace freshet
