// The programs that work on the tasks of the queue that all members share (fleet_plan.h, has_runs). A program works for
// a while, and then succeeds, fails, is killed, or never ends; or it cannot be started. One thread.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/ports.h"
#include "tests/sim/fleet/runs_judge.h"
#include "tests/sim/machine/trace.h"

namespace freshet::fleet_sim {

class RunPrograms {
 public:
  // All references outlive it. `calm`: all programs succeed, soon. `longest`: a program that never ends is killed then.
  RunPrograms(RunsJudge& judge, const Clock& clock, sim::Trace& trace, Random random, const bool& calm,
              milliseconds longest)
      : judge_(judge), clock_(clock), trace_(trace), random_(random), calm_(calm), longest_(longest) {}

  // As Spawner::run(), on that node, whose loop is the scheduler's. It outlives the result.
  Async<Result<ProcessResult>> run(std::string node, ProcessSpec spec, Scheduler& scheduler);
  // While it is calm, each takes a time between these.
  void set_length(milliseconds least, milliseconds most) { length_ = {least, most}; }
  uint64_t begun() const { return begun_; }

 private:
  enum class Fate { kWell, kError, kBusy, kKilled, kHangs, kNotStarted };
  class Life;

  Fate draw_fate();
  milliseconds draw_length();
  milliseconds draw(int64_t least, int64_t most) {
    return milliseconds(least + static_cast<int64_t>(random_.below(static_cast<uint64_t>(most - least + 1))));
  }

  RunsJudge& judge_;
  const Clock& clock_;
  sim::Trace& trace_;
  Random random_;
  const bool& calm_;
  const milliseconds longest_;
  std::pair<milliseconds, milliseconds> length_{1, 20};
  uint64_t begun_ = 0;
};

}  // namespace freshet::fleet_sim
