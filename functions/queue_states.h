// The table of what queues remember beside their items: logs of sheds, pauses, jobs, learnt limits, locks. In a fleet
// it is in the shared store.
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

// `slot`: tells the items of a queue apart.
Item queue_state_key(const std::string& queue, int64_t slot);

}  // namespace freshet
