// The table of commands. `freshet --help`, the completions and the man pages read it, in this order.
#pragma once

#include <span>

#include "app/cli/options.h"

namespace freshet::cli {

struct CommandRow {
  const char* group;                           // The heading in `freshet --help`. Rows of one group stand together.
  const char* name;                            // The name that `add` gives to the command.
  void (*add)(Command app, int& exit_status);  // Adds the command with its options. See commands.h.
};

// Lives as long as the program.
std::span<const CommandRow> command_table();

// Adds every command of the table to `app`, each in its group. `exit_status` must outlive the parse. Afterwards the
// tree of CLI::App objects has every fact about the commands: names, groups, descriptions, options, examples (the
// footers).
void add_commands(Command app, int& exit_status);

}  // namespace freshet::cli
