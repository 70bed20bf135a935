// Brings the daemon to what a template wants, at its start and while it runs, and says what changed. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/daemon/plan.h"
#include "base/async.h"
#include "base/log.h"
#include "runtime/audit_log.h"
#include "runtime/deploy/apply.h"
#include "runtime/ports.h"
#include "runtime/runtime.h"

namespace freshet {

class Deployer {
 public:
  // Called after each deployment, for those who do more with a template than the runtime does. The deployment outlives
  // the Async. An error is the deployment's.
  using Deployed = std::function<Async<Result<void>>(const PlannedDeployment& planned)>;
  // All outlive it.
  struct Parts {
    Tables& tables;
    Runtime& runtime;
    AuditLog& audit;
    Deployed deployed;
    EventLog log;
  };
  explicit Deployer(Parts parts) : parts_(std::move(parts)) {}
  Deployer(const Deployer&) = delete;
  Deployer& operator=(const Deployer&) = delete;

  // Does what differs, in order, then calls `deployed`. Errors as apply_deployment(); kConflict while another
  // deployment is under way. The result is applied (tables/tables.h).
  // Before anything is changed, the audit log has a line that says who changes what.
  Async<Result<DeploymentPlan>> deploy(PlannedDeployment planned, Actor actor);
  // The same, once no other deployment is in progress.
  Async<Result<DeploymentPlan>> deploy_in_turn(PlannedDeployment planned, Actor actor);
  // Returns the changes that deploy() would make.
  Async<Result<DeploymentPlan>> plan(PlannedDeployment planned);
  // From now on kUnavailable.
  void close() { closed_ = true; }

  // Since the start; the one at the start not counted.
  struct Counts {
    uint64_t applied = 0;
    uint64_t refused = 0;  // Templates with faults, and what could not be done.
  };
  const Counts& counts() const { return counts_; }
  void count(bool applied) { ++(applied ? counts_.applied : counts_.refused); }

 private:
  Async<Result<void>> audit(const PlannedDeployment& planned, Actor actor);
  void tell(const DeploymentPlan& done, const Deployment& deployment) const;

  const Parts parts_;
  Counts counts_;
  bool at_work_ = false;
  std::vector<Promise<bool>> waiting_;  // These wait for the current deployment to end.
  bool closed_ = false;
};

// POST /deploy: {"file": NAME, "template": TEXT, "parameters": ["NAME=VALUE"], "settings": ["FUNCTION.VARIABLE=VALUE"],
// "dryRun": false}. `file` is the template's absolute path: what it names (CodeUri) is beside it, on this machine. The
// answer: {"changes": [{"change", "type", "name", "detail"}], "warnings": [...], "outputs": {...}}.
struct DeployPlace {
  TemplateOptions options;          // The daemon's: its account, and whether it keeps traces.
  std::vector<std::string> queues;  // Those of --queue.
  bool read_only = false;           // Only "dryRun": all else is kAccessDenied.
  bool is_signed = false;           // Requests are let in only with a good signature.
};
// The deployer outlives the route.
std::unique_ptr<Route> make_deploy_route(Deployer& deployer, DeployPlace place);

}  // namespace freshet
