// The one page that wires everything: store, loop, runtime, functions, protocols. It knows the machine by its World
// only (world.h), so that a simulated one is as good.
//
// Life: open(), begin(), turns of the loop until it has stopped, destruction. Destroying it at any other moment is what
// SIGKILL does, but for the memory that it frees. All calls on the loop's thread.
#pragma once

#include <memory>
#include <optional>

#include "app/daemon/options.h"
#include "app/daemon/plan.h"
#include "app/daemon/world.h"
#include "base/result.h"
#include "runtime/loop/loop.h"

namespace freshet {

class Daemon {
 public:
  virtual ~Daemon() = default;

  // Takes its address, opens the store (recovery is over when this returns) and puts the parts together. The error is
  // in words for the person who starts it.
  virtual Result<void> open() = 0;
  // The start goes on in the loop's turns: it applies the template and then serves requests. If that cannot be, it
  // stops the loop, and refusal() says why.
  virtual void begin() = 0;
  virtual Loop& loop() = 0;
  // Drains as after SIGTERM, and then stops the loop. Loop thread.
  virtual void stop() = 0;
  // Reads the template again and applies it. Any thread.
  virtual void reload() = 0;
  // The program returns it once the loop has stopped.
  virtual int exit_status() const = 0;
  virtual bool ready() const = 0;  // Requests are served.
  // Why the start failed after begin(), in words for the person who starts it.
  virtual const std::optional<Error>& refusal() const = 0;
  virtual EventLog log() const = 0;
};

// World and options outlive it. `plan` is plan_daemon(options).
std::unique_ptr<Daemon> make_daemon(World& world, const DaemonOptions& options, DaemonPlan plan);

// The program `freshet run`. Runs until SIGTERM or SIGINT (drains, then returns 0), until the spawner process is lost
// (drains, then returns 1), or until the store fails (returns 1 at once). It says why. Wrong options or templates: says
// what is wrong and where, returns 2 without having opened anything.
int run_daemon(const DaemonOptions& options);

}  // namespace freshet
