// Commands whose first word is the name of their queue: freshet pause QUEUE, freshet policy QUEUE, …
#pragma once

#include <string>

#include "app/cli/checks.h"
#include "app/cli/remote.h"

namespace freshet::cli {

inline void add_queue_name(Command command, Remote& remote) {
  remote.option = "the first argument";
  remote.variable = "FRESHET_QUEUE";
  remote.add_connection_options(command);
  command.add_flag("--json", remote.json, "Print JSON");
  command.add_option("queue", remote.queue, "Name of the queue: that of its table").required().check(not_empty());
}

}  // namespace freshet::cli
