// Starts programs. Before the store opens and before any thread starts, the daemon forks a tiny spawner process. All
// programs run below it, each with its descendants below a keeper (keeper.h). The spawner ends all of them when its
// socket closes, and each keeper ends its own when the spawner dies. So no program outlives the daemon, not even after
// `kill -9` of it, and the loop never forks a large process.
#pragma once

#include <cstddef>
#include <functional>
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
  int pid() const { return pid_; }

 private:
  SpawnerProcess(int socket, int pid) : socket_(socket), pid_(pid) {}
  int socket_;
  int pid_;
};

struct SpawnerOptions {
  // Loop thread, once: the spawner process has ended by itself. Callers that wait for a program get kUnavailable
  // afterwards.
  std::function<void()> on_lost;
  // The most bytes that wait to be written to the spawner process; beyond them a run is kUnavailable.
  size_t max_waiting_bytes = 64u << 20;
};

// The Spawner port over that process. One thread writes the requests, one reads the answers and hands them to the
// mailbox. Must be destroyed before the process's end and the loop.
std::unique_ptr<Spawner> make_spawner(SpawnerProcess& process, Scheduler& scheduler, Mailbox& mailbox,
                                      SpawnerOptions options = {});

}  // namespace freshet
