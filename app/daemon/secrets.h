// Hides the daemon's secrets from the programs that it runs. Functions and task handlers are processes of the same
// user, and such processes may look into each other through /proc and ptrace(2).
#pragma once

#include <map>
#include <string>

namespace freshet {

using Variables = std::map<std::string, std::string>;

// Overwrites the environment that the process was started with, except what it still reads later (PATH, TZ, LC_*, ...,
// see the .cc). Asks the kernel to let only root look into the process; it then leaves no core file. Call it once the
// options are read, while there is one thread and before the first fork: children of fork() inherit both settings,
// executed programs do not. Returns the variables of AWS SDKs (AWS_...), with which the daemon itself signs requests.
Variables hide_secrets();

}  // namespace freshet
