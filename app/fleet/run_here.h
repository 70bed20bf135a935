// Runs tasks of queues that other daemons of the fleet serve. A run ends when the daemon that asked for it hangs up, or
// is dead. Loop thread. Everything that it refers to must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "app/fleet/queue_units.h"
#include "functions/runners/run_order.h"
#include "runtime/ports.h"
#include "runtime/runtime.h"

namespace freshet {

class RunHere {
 public:
  // Makes the runner for an order. kNotFound if this daemon does not have the function, or has it for another queue.
  using MakeRunner = std::function<Result<std::unique_ptr<Runner>>(const RunOrder&)>;

  RunHere(QueueUnits& units, MakeRunner make) : units_(units), make_(std::move(make)) {}
  RunHere(const RunHere&) = delete;
  RunHere& operator=(const RunHere&) = delete;

  // The answer to POST /fleet/run.
  Async<HttpResponse> answer(std::string body);
  // From now on, further runs are refused.
  void stop() { stopped_ = true; }
  // Waits for those in work, until `deadline`, and then ends the rest: the daemons that asked for them release the
  // tasks. Returns false if it has ended some. Call it once.
  Async<bool> finish(BootTime deadline);
  size_t running() const { return runs_.size(); }

 private:
  class Counted;

  bool is_member(const RunOrder& order) const;
  Async<void> watch(std::string owner, uint64_t epoch, Promise<bool> over) const;

  QueueUnits& units_;
  const MakeRunner make_;
  bool stopped_ = false;
  std::optional<Promise<bool>> ended_;  // Set while finish() waits.
  std::list<Promise<bool>> runs_;       // Each ends a run.
};

// The runner of this daemon for the order. kNotFound if the daemon does not have the function, or has it for another
// queue, or with a runner whose work is shared by nobody. The runtime outlives the runner.
Result<std::unique_ptr<Runner>> runner_for(const RunOrder& order, Runtime& runtime);

// POST /fleet/run. `runs` outlives the route.
std::unique_ptr<Route> make_run_route(RunHere& runs);

}  // namespace freshet
