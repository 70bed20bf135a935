// Starts a run on the data folder that a released version has written (tests/data). The content must stay.
#pragma once

#include <string>

#include "tests/sim/machine/clients.h"
#include "tests/sim/sim_files.h"

namespace freshet::sim {

// Puts the files of the oldest release into the folder, and tells the judge of its tasks.
void load_released_data(SimFiles& files, const std::string& folder, TasksJudge& tasks);
// Judges that the tables that nobody writes are as that version left them. Returns false if there was no answer.
Async<bool> judge_released_data(Stage& stage);

}  // namespace freshet::sim
