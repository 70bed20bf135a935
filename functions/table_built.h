// Tables that hold a queue: ready once they were altered.
#pragma once

#include <string>

#include "runtime/invoke/function.h"

namespace freshet {

// New indexes and books of a table that has items are built in steps; until then they cannot be read. Resolves when all
// can be, or the table is gone. `services` outlives it. Loop thread.
Async<void> table_built(Services& services, std::string table);

}  // namespace freshet
