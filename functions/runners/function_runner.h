// Invokes a function of this daemon, of any runtime, with each task as its event (task_json()). Its result becomes that
// of the task; its error becomes a failure with the error's text. A result {"retryAfterMs": N}, with or without a
// "reason", gives the task back for that time. If the function is at its concurrency limit, has no place, or does not
// exist, the task bounces.
//
// The invocation continues the trace of the processor. It ends when the Async is destroyed, and after `timeout` or its
// own timeout, whichever is earlier.
#pragma once

#include <string>

#include "functions/runners/runner.h"

namespace freshet {

class FunctionRunner final : public Runner {
 public:
  // `trace_id`: see InvokeWishes.
  FunctionRunner(const RunnerSettings& settings, Services& services, std::string trace_id)
      : settings_(settings), services_(services), trace_id_(std::move(trace_id)) {}
  Async<RunResult> run(ItemRef task, std::string lease) override;

 private:
  const RunnerSettings settings_;
  Services& services_;
  const std::string trace_id_;
};

}  // namespace freshet
