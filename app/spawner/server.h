// The spawner process's own program: one thread, a poll loop over the daemon's socket and the children's pipes.
#pragma once

namespace freshet::spawner {

// Serves `socket` until it closes, then ends every descendant. Returns the exit status of the spawner process.
int serve(int socket);

}  // namespace freshet::spawner
