// Reads the daemon's template again and deploys it while the daemon runs (on SIGHUP and --watch). Reloads run one after
// the other, and none runs during the start. The log has the result of each.
#pragma once

#include <functional>
#include <optional>

#include "app/daemon/plan.h"
#include "base/async.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/scheduler.h"
#include "runtime/deploy/plan.h"

namespace freshet {

class Reloads {
 public:
  // All outlive it.
  struct Parts {
    std::function<Result<PlannedDeployment>()> read;  // Called on the thread that calls read_again().
    std::function<Async<Result<DeploymentPlan>>(PlannedDeployment planned)> deploy;
    std::function<void(bool applied)> count;
    Scheduler& scheduler;
    Mailbox& mailbox;
    EventLog log;
  };
  explicit Reloads(Parts parts) : parts_(std::move(parts)) {}
  Reloads(const Reloads&) = delete;
  Reloads& operator=(const Reloads&) = delete;

  // Reads the template and deploys it. Before begin(), or while another reload runs, the deployment waits. If several
  // wait, only the newest is deployed: it is the whole template as it is now. Any thread; takes as long as reading the
  // template does.
  void read_again();

  // Loop thread. Starts deploying the templates that were read.
  void begin();
  // Loop thread. Starts no more deployments.
  void end() { state_ = State::kOver; }

 private:
  enum class State { kWaits, kRuns, kOver };
  void refuse(const Error& error);
  void look();
  std::optional<PlannedDeployment> take();
  Async<void> work_off();

  const Parts parts_;
  Mutex reading_;  // Held while the template is read, so that the last one read is the last one queued.
  Mutex mutex_;
  std::optional<PlannedDeployment> waiting_ FRESHET_GUARDED_BY(mutex_);
  // Loop thread.
  State state_ = State::kWaits;
  bool at_work_ = false;
  Scope work_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
