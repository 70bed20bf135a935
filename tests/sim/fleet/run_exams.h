// A fleet's promises about the runs of a queue on all members, when nothing else goes wrong. For the end of a run.
#pragma once

#include "tests/sim/fleet/exams.h"
#include "tests/sim/fleet/run_programs.h"

namespace freshet::fleet_sim {

// Each member works on tasks, as many as the limit allows are in work, and each task runs once: also when a member
// stops meanwhile. When one is killed, its tasks run again.
Async<void> watch_runs(Exam& exam, RunPrograms& programs);

}  // namespace freshet::fleet_sim
