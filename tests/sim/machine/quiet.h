// Judges a daemon at rest: it must hold no timer, request or memory of ended work.
#pragma once

#include <functional>

#include "runtime/loop/loop.h"
#include "tests/sim/machine/clients.h"
#include "tests/sim/machine/sim_world.h"

namespace freshet::sim {

// The parts of the machine that the judge uses. All of them outlive the call.
struct QuietWorld {
  Stage& stage;
  SimWorld& world;
  Loop& daemon;
  std::function<void(milliseconds)> pass;  // Lets this much time pass.
};

// Call it when everything was judged and all clients are gone. It lets time pass and counts. Then a few clients come
// again and again, and do the same each time: the daemon must not hold more after one time than after the one before.
void judge_quiet(QuietWorld quiet);

}  // namespace freshet::sim
