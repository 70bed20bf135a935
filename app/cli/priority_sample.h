// The commands of the priority-queue sample's console, each as a command of its own with JSON output.
#pragma once

namespace CLI {
class App;
}

namespace freshet::cli {

// Adds them to `freshet priority`, which has those of its calls (enqueue, peek, dlq) already. `exit_status` outlives
// the parse.
void add_sample_commands(CLI::App& priority, int& exit_status);

}  // namespace freshet::cli
