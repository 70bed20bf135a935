// Runs a program for each task: the task as JSON on standard input, standard output is the result. Exit status 0 is
// success. Status 75 (EX_TEMPFAIL) bounces the task, as does a spawner that cannot start programs now. Any other
// status, a signal and a timeout are failures. The program is killed with all its descendants when the Async is
// destroyed, by the timeout, and when the daemon dies.
#pragma once

#include "functions/runners/runner.h"

namespace freshet {

class ExecRunner final : public Runner {
 public:
  ExecRunner(const RunnerSettings& settings, Spawner& spawner) : settings_(settings), spawner_(spawner) {}
  Async<RunResult> run(ItemRef task, std::string lease) override;

 private:
  const RunnerSettings settings_;
  Spawner& spawner_;
};

}  // namespace freshet
