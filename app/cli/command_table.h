// The commands, in the order of the table in command_table.cc. `freshet --help`, the completions and the man pages show
// them in this order.
#pragma once

#include "app/cli/options.h"

namespace freshet::cli {

// Adds every command to `app`, each in its group. `exit_status` must outlive the parse. Afterwards the tree of CLI::App
// objects has every fact about the commands: names, groups, descriptions, options, examples (the footers).
void add_commands(Command app, int& exit_status);

}  // namespace freshet::cli
