// freshet ordered: tables with ordered writes of a running daemon, and the replay of a fixture.
#pragma once

#include "app/cli/options.h"

namespace freshet::cli {

// Keeps `exit_status`, which must outlive the parse.
void add_ordered(Command app, int& exit_status);

}  // namespace freshet::cli
