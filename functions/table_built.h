// Waits until changed tables of queues are ready.
#pragma once

#include <string>

#include "base/log.h"
#include "runtime/invoke/function.h"
#include "tables/definition.h"

namespace freshet {

// New indexes and books of a table with items are built in steps; until then they cannot be read. Resolves when all can
// be read, or the table was deleted. It waits without end, as a large table takes hours: it logs the beginning and the
// end (TABLE_BUILDING, TABLE_BUILT), and every ten minutes what it waits for (TABLE_STILL_BUILDING). `services`
// outlives it. Loop thread.
Async<void> table_built(Services& services, EventLog log, std::string table);

// Names the parts of `wanted` that `there` lacks or has in another form: "index 'a', index 'b'", or "its books". For
// two definitions that differ.
std::string lacking(const TableDefinition& wanted, const TableDefinition& there);

}  // namespace freshet
