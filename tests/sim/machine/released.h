// The data folder that a released version wrote (tests/data), as the first life finds it: what was in it must stay.
#pragma once

#include <string>

#include "tests/sim/machine/clients.h"
#include "tests/sim/sim_files.h"

namespace freshet::sim {

// Puts the files of the oldest release into the folder, and tells the judge of its tasks.
void load_released_data(SimFiles& files, const std::string& folder, TasksJudge& tasks);
// The tables that nobody writes are as that version left them. False without an answer.
Async<bool> judge_released_data(Stage& stage);

}  // namespace freshet::sim
