// Functions that work on the tasks of queues (TASK_RUNNER=function:NAME): which functions these are, and why one cannot
// start.
#pragma once

#include <string>
#include <vector>

#include "runtime/invoke/function.h"

namespace freshet {

// The names of the functions that work on tasks of queues, from the settings of process_tasks functions: sorted, each
// once. A name may belong to no function, and may have a qualifier ("F:live").
std::vector<std::string> worker_functions(const std::vector<FunctionDefinition>& functions);

// Why the function cannot start and what to do, for its owner; `error` is the error of its process. Empty if the daemon
// is the cause, which then reports it itself.
std::string start_trouble(const FunctionDefinition& function, const FunctionError& error);

}  // namespace freshet
