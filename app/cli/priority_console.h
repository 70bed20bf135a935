// The priority-queue sample's interactive console, spoken to a running daemon: its commands, words and JSON.
#pragma once

#include "app/cli/remote.h"

namespace freshet::cli {

// Reads commands until `quit` or the end of standard input; with history and completion on a terminal.
int run_priority_console(const Remote& remote);

}  // namespace freshet::cli
