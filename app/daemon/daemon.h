// The one page that wires everything: store, loop, runtime, functions, protocols. It uses the machine only through its
// World (world.h), so that it also runs in a simulated one.
//
// Life: open(), begin(), turns of the loop until it has stopped, destruction. Destroying it at any other moment has the
// effect of SIGKILL, except that memory is freed. All calls on the loop's thread.
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

  // Binds its address, opens the store (including recovery) and connects the parts. The error is for the person who
  // starts it.
  virtual Result<void> open() = 0;
  // The start continues in the loop's turns: it applies the template and then serves requests. If that fails, it stops
  // the loop, and refusal() has the reason.
  virtual void begin() = 0;
  virtual Loop& loop() = 0;
  // Drains as after SIGTERM, and then stops the loop. Loop thread.
  virtual void stop() = 0;
  // Reads the template again and applies it. Any thread.
  virtual void reload() = 0;
  // The exit status of the program, valid once the loop has stopped.
  virtual int exit_status() const = 0;
  virtual bool ready() const = 0;  // True while requests are served.
  // Why the start failed after begin(), for the person who starts it.
  virtual const std::optional<Error>& refusal() const = 0;
  virtual EventLog log() const = 0;
};

// World and options outlive it. `plan` is plan_daemon(options).
std::unique_ptr<Daemon> make_daemon(World& world, const DaemonOptions& options, DaemonPlan plan);

// The program `freshet run`. Runs until SIGTERM or SIGINT (drains, then returns 0), until the spawner process is lost
// (drains, then returns 1), or until the store fails (returns 1 at once). It prints the reason. All errors of options
// and templates are printed, with their places, before anything is opened; it then returns 2.
int run_daemon(const DaemonOptions& options);

}  // namespace freshet
