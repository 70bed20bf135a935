// Children. Before the store opens and before any thread starts, the daemon forks a tiny spawner process. It is the
// sole parent of all handlers and a subreaper, and ends every descendant when its socket closes: none outlives the
// daemon, not even after `kill -9` of it, and the loop never forks a large process.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/scheduler.h"
#include "runtime/ports.h"

namespace freshet {

// The daemon's end of the spawner process. Closing it (also by dying) ends the spawner and all that it started.
class SpawnerProcess {
 public:
  // Forks. Call it while the process has one thread.
  static Result<SpawnerProcess> start();
  SpawnerProcess(SpawnerProcess&& other) noexcept;
  SpawnerProcess& operator=(SpawnerProcess&&) = delete;
  ~SpawnerProcess();
  int socket() const { return socket_; }

 private:
  SpawnerProcess(int socket, int pid) : socket_(socket), pid_(pid) {}
  int socket_;
  int pid_;
};

// The Spawner port over that process. A thread of its own reads the answers and hands them to the mailbox. Must be
// destroyed before the process's end and the loop.
std::unique_ptr<Spawner> make_spawner(SpawnerProcess& process, Scheduler& scheduler, Mailbox& mailbox);

}  // namespace freshet
