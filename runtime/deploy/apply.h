// Brings a running store and runtime to what a deployment wants. Loop thread.
#pragma once

#include "base/async.h"
#include "runtime/deploy/plan.h"
#include "runtime/runtime.h"

namespace freshet {

// What is there of the deployment's tables, and everything of the runtime.
Async<Result<DeployedState>> read_deployed_state(Deployment deployment, Tables& tables, Runtime& runtime);

// Plans and does it; the plan that was done. Idempotent: a second time there is nothing to do and nothing is written.
// What the deployment before made and this one does not name is removed, except tables; what clients made stays.
// kValidation before anything is done when a table would need other keys. The result is applied (tables/tables.h).
// `runtime` has been started; it and `tables` outlive the Async.
Async<Result<DeploymentPlan>> apply_deployment(Deployment deployment, Tables& tables, Runtime& runtime);

}  // namespace freshet
