// An interactive console for a priority queue of a running daemon, with the commands and the JSON of the sample's own.
#pragma once

#include "app/cli/remote.h"

namespace freshet::cli {

// Reads commands until `quit` or the end of standard input; with history and completion on a terminal.
// `sample`: it greets and answers in the sample's words.
int run_priority_console(const Remote& remote, bool sample);

}  // namespace freshet::cli
