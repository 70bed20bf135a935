// Applies a deployment to a running store and runtime. Loop thread.
#pragma once

#include "base/async.h"
#include "runtime/deploy/plan.h"
#include "runtime/runtime.h"

namespace freshet {

// Reads the current state of the deployment's tables, and of the whole runtime.
Async<Result<DeployedState>> read_deployed_state(Deployment deployment, Tables& tables, Runtime& runtime);

// Plans the deployment, carries it out, and returns the plan. Idempotent: a second call changes and writes nothing.
// Parts that the previous deployment made and this one does not name are removed, except tables; parts that clients
// made stay. kValidation before any change if a table would need other keys. The result is applied (tables/tables.h).
// `runtime` has been started; it and `tables` outlive the Async.
Async<Result<DeploymentPlan>> apply_deployment(Deployment deployment, Tables& tables, Runtime& runtime);

}  // namespace freshet
