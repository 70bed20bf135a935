// Finding and ending the processes that a child has left, including those that moved to a session of their own.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace freshet::spawner {

// Each child gets this variable with its run's name; descendants inherit it, which is how an orphan (its parent gone,
// adopted by the subreaper) is known to belong to a run.
inline constexpr const char* kRunVariable = "FRESHET_RUN_ID";

// Sends SIGKILL to every process of the run, over and over until a look finds none that is alive. The direct child
// itself
// (`leader`, 0 if it has ended) and its process group are included.
void kill_run(const std::string& run, pid_t leader);

// True if this process has no living child besides `known`: the quick look that usually spares the search above.
bool has_only_children(const std::set<pid_t>& known);

// Ends every process below this one. For the spawner's own end.
void kill_all_descendants();

}  // namespace freshet::spawner
