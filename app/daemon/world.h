// The world that a daemon lives in: time, files, sockets, programs, randomness and threads. A daemon reaches the
// machine through it, so that tests/sim can run whole daemons in a simulated one. The machine's own world is
// real_world.h.
//
// A world outlives the daemons in it, and may have several, one after the other or side by side. Everything that its
// make_... functions return belongs to the caller and ends before the world.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/background_work.h"
#include "base/clock.h"
#include "base/clock_sync.h"
#include "base/files.h"
#include "base/log.h"
#include "base/result.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/waiter.h"
#include "runtime/ports.h"
#include "streams/shards/engine_streams.h"
#include "tables/tables.h"
#include "wire/http/io_thread.h"
#include "wire/http/sockets.h"

namespace freshet {

class World {
 public:
  virtual ~World() = default;

  virtual const Clock& clock() const = 0;
  virtual const ClockSync& clock_sync() const = 0;
  virtual Files& files() = 0;
  virtual Network& network() = 0;
  virtual LogSink& log() = 0;
  virtual uint64_t seed() = 0;  // A new seed at each call.
  // A variable of the environment in which the daemon was started; programs that it runs need not have it.
  virtual std::optional<std::string> variable([[maybe_unused]] const std::string& name) const { return std::nullopt; }

  // Puts a daemon's loop to sleep. One for each loop.
  virtual Waiter& waiter() = 0;
  // Makes `count` threads that read and write sockets. With `lend`, the loop may run the turns of a single thread. kIo
  // if the machine has no more threads.
  virtual Result<std::vector<std::unique_ptr<IoThread>>> make_io_threads(unsigned count, Loop& loop, bool lend) = 0;
  // Work beside the loop; `on_over` is called after each piece, on any thread.
  virtual std::unique_ptr<BackgroundSync> make_sync(Scheduler& scheduler, std::function<void()> on_over) = 0;
  virtual std::unique_ptr<BackgroundWork> make_work(Scheduler& scheduler, std::function<void()> on_over) = 0;
  // Runs programs. `on_lost` is called on the loop, once, if it can no longer do so.
  virtual std::unique_ptr<Spawner> make_spawner(Scheduler& scheduler, Mailbox& mailbox,
                                                std::function<void()> on_lost) = 0;
  // Returns the store that the runtime and the queues use; null, as here, if they use `store` itself. A simulated world
  // may return one that answers late. `store` and `scheduler` outlive the result.
  virtual std::unique_ptr<Tables> make_tables([[maybe_unused]] Tables& store, [[maybe_unused]] Scheduler& scheduler) {
    return nullptr;
  }
  // Returns the streams of an engine as the daemon reads them; null, as here, if it reads `engine` itself, which
  // outlives the result.
  virtual std::unique_ptr<EngineStreams> make_streams([[maybe_unused]] EngineStreams& engine) { return nullptr; }
};

}  // namespace freshet
