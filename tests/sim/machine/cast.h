// Starts the clients that take part in a run by its plan, and tells the judges what to expect of it.
#pragma once

#include <functional>

#include "base/async.h"
#include "base/random.h"
#include "tests/sim/machine/clients.h"
#include "tests/sim/machine/sim_programs.h"

namespace freshet::sim {

// Spawns all clients into `clients`, and the stream's readers into `stream`. `fork` gives each client its own random
// numbers.
void begin_clients(Stage& stage, const std::function<Random()>& fork, Scope& clients, Scope& stream);
void set_expectations(Stage& stage);
// Sets the behaviour of the programs that the daemons of the run start. `stage` and `http` must outlive them.
void play_programs(ProgramPlay& programs, Stage& stage, HttpClient& http);
// Requests /readyz at the end, and waits for an index that is being built again.
Async<Reply> ask_if_ready(Stage& stage, Random& random);
// Judges the queues other than the first one, and the data that the run began with, once faults are over. Returns false
// if they are not at rest yet, or if a request got no answer.
Async<bool> judge_others(Stage& stage);

}  // namespace freshet::sim
