// Ctrl-C for commands that wait: it ends the wait, and the command prints the state of its work.
#pragma once

#include <chrono>

namespace freshet::cli {

// The effect of a second signal.
enum class SecondSignal { kEndsTheProcess, kIsHeardToo };

// From now on SIGINT, SIGTERM and SIGHUP do not end the process: `interrupted` is true and the wait below ends. A
// signal that was ignored before stays ignored, as under nohup.
void hear_interrupts(SecondSignal second = SecondSignal::kEndsTheProcess);
bool interrupted();
// Waits for that time or until a signal comes. Returns false after a signal.
bool wait_for(std::chrono::milliseconds time);

}  // namespace freshet::cli
