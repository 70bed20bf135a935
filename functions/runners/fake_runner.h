// The sample's runner: pretends to work for a while on a few tasks at once and bounces the rest. Each task's result is
// {"fake": true}, so that nobody mistakes its SUCCESS for real work.
#pragma once

#include "base/scheduler.h"
#include "functions/runners/runner.h"

namespace freshet {

class FakeRunner final : public Runner {
 public:
  FakeRunner(const RunnerSettings& settings, Scheduler& scheduler)
      : slots_(settings.fake_slots),
        duration_(settings.fake_duration),
        bounce_delay_(settings.retry_after),
        scheduler_(scheduler) {}
  Async<RunResult> run(ItemRef task, std::string lease) override;

 private:
  const int slots_;
  const milliseconds duration_;
  const std::optional<milliseconds> bounce_delay_;
  Scheduler& scheduler_;
  int busy_ = 0;
};

}  // namespace freshet
