// The clients that take part in a run, as the plan has them, and what the judges may expect of such a run.
#pragma once

#include <functional>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/machine/clients.h"
#include "tests/sim/machine/sim_programs.h"

namespace freshet::sim {

// Spawns all clients into `clients`, and who follows the stream into `stream`. `fork` gives each its own random
// numbers.
void begin_clients(Stage& stage, const std::function<Random()>& fork, Scope& clients, Scope& stream);
void set_expectations(Stage& stage);
// The programs that the daemons of the run start. `stage` and `http` outlive them.
void play_programs(ProgramPlay& programs, Stage& stage, HttpClient& http);
// Asks for /readyz at the end, and waits for an index that is built again.
Async<Reply> ask_if_ready(Stage& stage, Random& random);
// The queues beside the first one, and the data that the run began with, once faults are over. False if they are not at
// rest yet, or gave no answer.
Async<bool> judge_others(Stage& stage);

}  // namespace freshet::sim
