// The table of a fleet with the positions of its event source mappings in the streams of the shared store. Its items
// are those of streams/shards/shard_checkpoints.h. Loop thread. The store must outlive the Async.
#pragma once

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr const char* kPositionsTable = "freshet-positions";

KeySchema positions_keys();

// Creates the table unless it exists. Errors name the table.
Async<Result<void>> provide_positions_table(Tables& tables);

}  // namespace freshet
