// Finds and ends all descendants of this process, including those in another session.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace freshet::spawner {

// Sends SIGKILL to everything below this process, which must be a subreaper and have SIGCHLD blocked, in rounds with a
// short wait between (a process may fork while we look), and reaps; `reaped` gets each child's wait status. Returns
// true once nothing is left. Returns false after about two seconds if processes are left that cannot be killed (another
// user's, or stuck in the kernel). `kill` is the system's; tests replace it.
using Reaped = std::function<void(pid_t, int wait_status)>;
bool end_descendants(const Reaped& reaped, int (*kill)(pid_t, int) = ::kill);

// The memory and threads that all descendants of one root have together. Memory is theirs alone: files that they map
// and memory that they share are not counted. Reads the system's processes once, whatever the number of roots.
struct Usage {
  uint64_t memory = 0;  // Bytes.
  uint64_t threads = 0;
};
std::map<pid_t, Usage> usage_below(const std::set<pid_t>& roots);

// One such round without the reaping. Skips `spared` and all processes below them.
void kill_descendants_once(const std::set<pid_t>& spared, int (*kill)(pid_t, int) = ::kill);

}  // namespace freshet::spawner
