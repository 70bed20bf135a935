// Waits until changed tables of queues are ready.
#pragma once

#include <string>

#include "runtime/invoke/function.h"
#include "tables/definition.h"

namespace freshet {

// New indexes and books of a table with items are built in steps; until then they cannot be read. Resolves when all can
// be read, or the table was deleted. `services` outlives it. Loop thread.
Async<void> table_built(Services& services, std::string table);

// Names the parts of `wanted` that `there` lacks or has in another form: "index 'a', index 'b'", or "its books". For
// two definitions that differ.
std::string lacking(const TableDefinition& wanted, const TableDefinition& there);

}  // namespace freshet
