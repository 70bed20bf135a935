// Ctrl-C for commands that wait: it ends the wait, and the command says how things stand.
#pragma once

#include <chrono>

namespace freshet::cli {

// From now on SIGINT, SIGTERM and SIGHUP end no process but the wait below. The second signal ends it.
void hear_interrupts();
bool interrupted();
// Waits that long, or until a signal comes. False: a signal has come.
bool wait_for(std::chrono::milliseconds time);

}  // namespace freshet::cli
