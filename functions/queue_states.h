// The table for the state of queues: shed logs, pauses, jobs, learnt limits, lanes, strict locks. In a fleet it is in
// the shared store.
#pragma once

#include <string>
#include <string_view>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr std::string_view kQueueStates = "freshet.queues";

// Creates the table unless it exists. Errors: the store's. `tables` outlives the Async.
Async<Result<void>> provide_queue_states(Tables& tables);

// `slot`: which item of the queue. Lines of its shed log have slots from 0 on, all else has negative ones. A strict
// lock is under a name that no queue of tasks has.
Item queue_state_key(const std::string& queue, int64_t slot);

}  // namespace freshet
