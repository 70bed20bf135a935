// Starts another daemon on the folder of a running one.
#pragma once

#include "app/daemon/options.h"
#include "tests/sim/machine/sim_world.h"
#include "tests/sim/machine/trace.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::sim {

// It must be refused, and do no harm.
void start_second_daemon(SimWorld& world, DaemonOptions options, Verdict& verdict, Trace& trace);

}  // namespace freshet::sim
