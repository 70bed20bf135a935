// Ctrl-C for commands that wait: it ends the wait, and the command prints the state of its work.
#pragma once

#include <chrono>

namespace freshet::cli {

// From now on SIGINT, SIGTERM and SIGHUP only end the wait below. A second signal ends the process.
void hear_interrupts();
bool interrupted();
// Waits for that time or until a signal comes. Returns false after a signal.
bool wait_for(std::chrono::milliseconds time);

}  // namespace freshet::cli
