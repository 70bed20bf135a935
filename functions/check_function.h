// Looks at a built-in function within all that is deployed with it: what would fail with every event, or with every
// task, is said before anything is deployed.
#pragma once

#include <vector>

#include "runtime/deploy/deployment.h"

namespace freshet {

// Changes nothing on the disk.
std::vector<FunctionFault> check_function(const FunctionDefinition& function, const Deployment& deployment);

}  // namespace freshet
