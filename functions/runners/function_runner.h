// Invokes a function of this daemon, of any runtime, with each task as its event (task_json()). Its result is that of
// the task, an error of it a failure with the error's text. A result {"retryAfterMs": N}, with or without a "reason",
// gives the task back for that long. A function at its concurrency, without a place, or not there bounces the task.
//
// The invocation goes on with the trace of the processor. It ends when the Async is destroyed, and after `timeout`; its
// own timeout ends it earlier.
#pragma once

#include <string>

#include "functions/runners/runner.h"

namespace freshet {

class FunctionRunner final : public Runner {
 public:
  // `trace_id`: as of InvokeWishes.
  FunctionRunner(const RunnerSettings& settings, Services& services, std::string trace_id)
      : settings_(settings), services_(services), trace_id_(std::move(trace_id)) {}
  Async<RunResult> run(ItemRef task, std::string lease) override;

 private:
  const RunnerSettings settings_;
  Services& services_;
  const std::string trace_id_;
};

}  // namespace freshet
