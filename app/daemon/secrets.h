// What the daemon knows is not for the programs that it runs. Functions and task handlers are processes of the same
// user, which may look into each other by /proc and ptrace(2).
#pragma once

namespace freshet {

// Overwrites the environment that the process was started with, but for what it still reads later (PATH, TZ, LC_*, ...,
// see the .cc), and asks the kernel to let nobody but root look into the process; it leaves no core file then. Call it
// once the options are read, while there is one thread and before the first fork: children of fork() inherit both,
// programs that are executed do not.
void hide_secrets();

}  // namespace freshet
