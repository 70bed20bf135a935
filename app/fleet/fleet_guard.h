// Keeps a daemon that is in no fleet from serving the queues of one: both would hand out the same tasks, each with its
// own limits. Loop thread. Everything that it refers to must outlive the Async.
#pragma once

#include <map>
#include <string>

#include "base/async.h"
#include "base/clock.h"
#include "functions/queue/queue.h"
#include "tables/tables.h"

namespace freshet {

// kConflict if a member of a fleet serves one of these queues, and its last heartbeat is not older than its lease by
// the wall clocks. Nothing is wrong if there is no fleet, or if its table cannot be read.
Async<Result<void>> check_no_fleet(Tables& engine, const Clock& clock, std::map<std::string, QueueSettings> queues);

}  // namespace freshet
