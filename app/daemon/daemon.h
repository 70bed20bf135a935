// The one page that wires everything: store, loop, runtime, functions, protocols, spawner.
#pragma once

#include "app/daemon/options.h"

namespace freshet {

// Runs until SIGTERM or SIGINT (drains, then returns 0), until the spawner process is lost (drains, then returns 1), or
// until the store fails (returns 1 at once). It says why. Wrong options or templates: says what is wrong and where,
// returns 2 without having opened anything.
int run_daemon(const DaemonOptions& options);

}  // namespace freshet
