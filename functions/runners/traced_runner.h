// Traces the attempts on tasks: each is a span, and the request or the call that does its work is a span below it.
// Loop thread.
#pragma once

#include <memory>
#include <string>

#include "functions/runners/runner.h"

namespace freshet {

// `runner` was made of the same settings. `header`: the X-Amzn-Trace-Id of the invocation that takes the tasks.
std::unique_ptr<Runner> trace_attempts(std::unique_ptr<Runner> runner, const RunnerSettings& settings, Tracing tracing,
                                       std::string header, std::string queue);

}  // namespace freshet
