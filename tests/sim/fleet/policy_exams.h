// A fleet's promises about changed policies, when nothing else goes wrong. For the end of a run.
#pragma once

#include "tests/sim/fleet/exams.h"

namespace freshet::fleet_sim {

// A change that is acknowledged holds at every member, and when the queue's daemon was stopped or killed.
Async<void> watch_policies(Exam& exam);

}  // namespace freshet::fleet_sim
