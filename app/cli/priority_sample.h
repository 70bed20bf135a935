// The commands of the priority-queue sample's console, each as a command of its own with JSON output.
#pragma once

#include "app/cli/options.h"

namespace freshet::cli {

// Adds them to `freshet priority`, which has those of its calls (enqueue, peek, dlq) already. `exit_status` outlives
// the parse.
void add_sample_commands(Command priority, int& exit_status);

}  // namespace freshet::cli
