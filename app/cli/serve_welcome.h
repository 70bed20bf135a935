// The lines that `freshet serve` prints once it serves: what it does, how to add tasks, how to watch them.
#pragma once

#include <string>

#include "app/cli/served_queue.h"

namespace freshet::cli {

struct ServeWelcome {
  std::string program = "freshet";  // The name by which the user calls the program.
  std::string url;                  // The daemon's URL.
  std::string data;                 // The folder of the store, absolute, or ":memory:".
  std::string engine;               // The endpoint of the engine that has the tasks; empty: `data` has them.
  std::string region;               // For signatures.
  std::string credentials;          // File of access keys; empty: requests need none.
  std::string ca;                   // File of the server's certificate; empty: plain HTTP.
};

// Five lines, and one more for a queue that workers take tasks from. The commands in them work when they are pasted
// into a shell.
std::string welcome_text(const ServedQueue& queue, const ServeWelcome& facts);

}  // namespace freshet::cli
