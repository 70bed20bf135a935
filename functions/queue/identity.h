// The names under which a daemon claims tasks.
#pragma once

#include <string>

namespace freshet {

// Identifies the daemon that claims. `node` stays the same over restarts on the same data, so that leases of earlier
// processes can be ended at once. `incarnation` is PROCESS, which is new at each start, or PROCESS.N, where N counts
// how often that process has opened the table's queue. Neither contains a colon.
struct QueueIdentity {
  std::string node = "freshet";
  std::string incarnation;
  bool in_fleet = false;  // Other daemons may serve the same queue later.
};

}  // namespace freshet
