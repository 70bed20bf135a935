// A fleet's promises about a FIFO topic, when nothing else goes wrong. For the end of a run.
#pragma once

#include "tests/sim/fleet/exams.h"

namespace freshet::fleet_sim {

// Each message comes once, soon, and keeps its number when it is sent again: also after the daemon that serves the
// topic was stopped. When it is killed, the messages under way come from the next one.
Async<void> watch_topic(Exam& exam);

}  // namespace freshet::fleet_sim
