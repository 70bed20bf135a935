// Checks a built-in function within its whole deployment: faults that would fail every event, or every task, are
// reported before anything is deployed.
#pragma once

#include <vector>

#include "runtime/deploy/deployment.h"

namespace freshet {

// The check changes nothing on the disk.
std::vector<FunctionFault> check_function(const FunctionDefinition& function, const Deployment& deployment);

}  // namespace freshet
