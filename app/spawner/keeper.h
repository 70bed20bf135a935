// The process between the spawner and one program: a subreaper, so that all processes that the program leaves behind
// stay below it whatever they do to their environment, session or parents. It ends everything below it when the program
// has ended, when it gets kEndSignal, and when the spawner is gone; then it reports and ends itself.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "runtime/ports.h"

namespace freshet::spawner {

// Not SIGTERM: that signal goes to whole groups and services, and is meant for the daemon, which drains first.
inline constexpr int kEndSignal = SIGUSR1;

struct Report {
  int start_error = 0;  // The errno if the program could not be started.
  bool ended = false;   // The program has ended, with this wait status.
  int wait_status = 0;
  bool all_ended = false;  // True if nothing is left below the keeper.
};

// The program that the process becomes. Pointers as execvpe wants them; file descriptors above 2, but the report's.
struct Program {
  char* const* argv;
  char* const* environment;
  const char* directory;
  int input;
  int output;
  int error_output;
  int report;  // Where the Report is written, unless the keeper is killed before.
  ProcessLimits limits;
};

// Call it in the freshly forked child of `spawner`, with SIGCHLD and kEndSignal blocked.
[[noreturn]] void keep(const Program& program, pid_t spawner);

}  // namespace freshet::spawner
