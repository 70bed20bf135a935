// A fleet's promises about time, when nothing else goes wrong (docs/fleet.md). For the end of a run.
#pragma once

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/fleet/cluster.h"
#include "tests/sim/fleet/fleet_clients.h"

namespace freshet::fleet_sim {

// Its references outlive it.
struct Exam {
  FleetStage& stage;
  Cluster& cluster;
  Random& random;
};

// The queues of a member that is killed are served by others within four seconds, and creates go on meanwhile.
Async<void> kill_owner(Exam& exam);
// Those of one that gets SIGTERM, within half a second.
Async<void> stop_owner(Exam& exam);
// Those of one that is killed and starts again at once, or some time later, are served within four seconds, too.
Async<void> restart_owner(Exam& exam);
// The schedule fires once each time, however many members there are.
Async<void> watch_schedule(Exam& exam);
// A change comes once, and another member goes on with the next ones when the one that runs the mapping is killed.
Async<void> watch_mapping(Exam& exam);
// An event runs once, and on another member when the one that has accepted it is killed.
Async<void> watch_events(Exam& exam);
// A member that joins serves nothing while its clock is off, says so, and serves again when it is right.
Async<void> restart_with_wrong_clock(Exam& exam);

}  // namespace freshet::fleet_sim
