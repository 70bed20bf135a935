// The template that the daemon was started with, read and deployed again while it runs (SIGHUP, --watch): one time
// after the other, none during the start. What became of each is said in the log.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "app/daemon/plan.h"
#include "base/async.h"
#include "base/log.h"
#include "base/scheduler.h"
#include "runtime/deploy/plan.h"

namespace freshet {

class Reloads {
 public:
  // All outlive it.
  struct Parts {
    std::function<Result<PlannedDeployment>()> read;  // Called on the thread that asks.
    std::function<Async<Result<DeploymentPlan>>(PlannedDeployment planned)> deploy;
    std::function<void(bool applied)> count;
    Scheduler& scheduler;
    Mailbox& mailbox;
    EventLog log;
  };
  explicit Reloads(Parts parts) : parts_(std::move(parts)) {}
  Reloads(const Reloads&) = delete;
  Reloads& operator=(const Reloads&) = delete;

  // Reads the template, and has it deployed: before begin(), or while another time is under way, as soon as that is
  // over. Of several that wait only the newest is deployed: it says all that is wanted. Any thread; takes as long as
  // the template is large.
  void read_again();

  // Loop thread. From now on what was read is deployed.
  void begin();
  // Loop thread. From now on nothing more is begun.
  void end() { state_ = State::kOver; }

 private:
  enum class State { kWaits, kRuns, kOver };
  void refuse(const Error& error);
  void look();
  std::optional<PlannedDeployment> take();
  Async<void> work_off();

  const Parts parts_;
  std::mutex reading_;  // Held while the template is read: what was read last waits last.
  std::mutex mutex_;
  std::optional<PlannedDeployment> waiting_;  // Guarded by mutex_.
  // Loop thread.
  State state_ = State::kWaits;
  bool at_work_ = false;
  Scope work_;  // Last: ended first.
};

}  // namespace freshet
