// The daemons of a fleet share the work of functions and programs: the daemon that serves a queue takes its tasks, and
// each of them runs on one of the daemons. Loop thread.
#pragma once

#include <memory>
#include <string>

#include "functions/runners/run_order.h"
#include "functions/runners/runner.h"

namespace freshet {

class RunSharing {
 public:
  virtual ~RunSharing() = default;
  // Does the work on one of the daemons, `here` if it is this one. The callee sets the owner and its
  // epoch. `timeout`: the
  // longest time that a run may take. Destroying the Async ends the work. `here` outlives the Async.
  virtual Async<RunResult> run(RunOrder order, milliseconds timeout, Runner& here) = 0;
};

// True if the runner's work is done by this machine itself: a function or a program. An endpoint is reached from
// anywhere.
bool is_work_of_machine(const RunnerSettings& settings);

// `here` is the runner of `settings`, which the function has for the queue. Returns it unchanged if it calls an
// endpoint. `sharing` outlives the result; null: all work is done here.
std::unique_ptr<Runner> share_runs(std::unique_ptr<Runner> here, const RunnerSettings& settings, RunSharing* sharing,
                                   RunOrder order);

}  // namespace freshet
