// Judges a daemon at rest: it holds no timer, request or memory of work that is over.
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
  std::function<void(milliseconds)> pass;  // The world goes on for so long.
};

// Everything was judged, and all clients have gone. Lets time pass and counts. Then a few clients come again and again
// and do the same each time: no more may be held after one time than after the one before.
void judge_quiet(QuietWorld quiet);

}  // namespace freshet::sim
