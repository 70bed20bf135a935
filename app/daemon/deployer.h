// Applies templates to the daemon, at its start and while it runs, and reports the changes. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/daemon/plan.h"
#include "base/async.h"
#include "base/log.h"
#include "runtime/api/audit_log.h"
#include "runtime/deploy/apply.h"
#include "runtime/ports.h"
#include "runtime/runtime.h"

namespace freshet {

class Deployer {
 public:
  // Called after each deployment, for the parts of a template that the runtime does not apply. The deployment outlives
  // the Async. An error becomes the deployment's.
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

  // Applies the differences, in order, then calls `deployed`. Errors as apply_deployment(); kConflict while another
  // deployment is running. The result is applied (tables/tables.h). Before any change, a line of the audit log says who
  // changes what.
  Async<Result<DeploymentPlan>> deploy(PlannedDeployment planned, Actor actor);
  // The same, once no other deployment is in progress.
  Async<Result<DeploymentPlan>> deploy_in_turn(PlannedDeployment planned, Actor actor);
  // Returns the changes that deploy() would make.
  Async<Result<DeploymentPlan>> plan(PlannedDeployment planned);
  // From now on deployments are refused with kUnavailable.
  void close() { closed_ = true; }

  // Counted since the start, without the deployment at the start.
  struct Counts {
    uint64_t applied = 0;
    uint64_t refused = 0;  // Templates with faults, and deployments that failed.
  };
  const Counts& counts() const { return counts_; }
  void count(bool applied) { ++(applied ? counts_.applied : counts_.refused); }

 private:
  Async<Result<void>> audit(const PlannedDeployment& planned, Actor actor);
  void log_changes(const DeploymentPlan& done, const Deployment& deployment) const;

  const Parts parts_;
  Counts counts_;
  bool at_work_ = false;
  std::vector<Promise<bool>> waiting_;  // These wait for the current deployment to end.
  bool closed_ = false;
};

// POST /deploy: {"file": NAME, "template": TEXT, "parameters": ["NAME=VALUE"], "settings": ["FUNCTION.VARIABLE=VALUE"],
// "dryRun": false}. `file` is the template's absolute path: the files that it names (CodeUri) are beside it, on this
// machine. The response: {"changes": [{"change", "type", "name", "detail"}], "warnings": [...], "outputs": {...}}.
struct DeployPlace {
  TemplateOptions options;          // The daemon's options: its account, and whether it keeps traces.
  std::vector<std::string> queues;  // The names of --queue.
  bool read_only = false;           // Allows only "dryRun": everything else is kAccessDenied.
  bool is_signed = false;           // True if every request must have a valid signature.
};
// The deployer outlives the route.
std::unique_ptr<Route> make_deploy_route(Deployer& deployer, DeployPlace place);

}  // namespace freshet
