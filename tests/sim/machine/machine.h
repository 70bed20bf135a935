// One run of the simulation: daemons one after the other on one disk, clients that use them, faults on everything, and
// judges. One thread; the seed decides everything.
#pragma once

#include <memory>
#include <string>

#include "app/daemon/daemon.h"
#include "runtime/loop/loop.h"
#include "tests/sim/machine/clients.h"
#include "tests/sim/machine/sim_world.h"
#include "wire/http/server.h"

namespace freshet::sim {

struct RunOptions {
  bool print = false;  // Prints the trace while the run goes on.
  uint64_t until = 0;  // Stops after so many steps; 0: at the end.
};

struct RunResult {
  bool holds = true;
  std::string promise;  // The promise that was broken. `what`: how.
  std::string what;
  uint64_t steps = 0;
  uint64_t lives = 0;
  uint64_t operations = 0;  // Operations of clients that were judged.
  uint64_t hash = 0;        // The hash of the trace.
  std::map<std::string, uint64_t> seen;
  std::deque<std::string> last;  // Lines of the trace before the end.
};

RunResult run_machine(const Plan& plan, const RunOptions& options);

}  // namespace freshet::sim
