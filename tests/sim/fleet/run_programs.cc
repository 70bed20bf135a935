#include "tests/sim/fleet/run_programs.h"

namespace freshet::fleet_sim {

// From the start of a program to its end, whatever ends it.
class RunPrograms::Life {
 public:
  Life(RunPrograms& all, const std::string& node, const std::string& task, const std::string& lease)
      : all_(all), run_(all.judge_.began(node, task, lease, all.clock_.boot())) {
    ++all.begun_;
    all.trace_.note("  " + node + " runs " + task + " under " + lease);
    if (all.judge_.elsewhere() > 0) all.trace_.saw("a task runs on another member");
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life() {
    all_.judge_.ended(run_, well_);
    if (!is_over_) all_.trace_.saw("a program is ended");
  }

  void over(bool well) {
    is_over_ = true;
    well_ = well;
  }

 private:
  RunPrograms& all_;
  const uint64_t run_;
  bool is_over_ = false;
  bool well_ = false;
};

RunPrograms::Fate RunPrograms::draw_fate() {
  if (calm_) return Fate::kWell;
  const uint64_t drawn = random_.below(100);
  if (drawn < 76) return Fate::kWell;
  if (drawn < 84) return Fate::kError;
  if (drawn < 88) return Fate::kBusy;
  if (drawn < 92) return Fate::kKilled;
  return drawn < 95 ? Fate::kHangs : Fate::kNotStarted;
}

milliseconds RunPrograms::draw_length() {
  if (calm_) return draw(length_.first.count(), length_.second.count());
  const uint64_t drawn = random_.below(10);
  return draw(0, drawn < 5 ? 100 : drawn < 8 ? 1'000 : longest_.count() - 100);
}

Async<Result<ProcessResult>> RunPrograms::run(std::string node, ProcessSpec spec, Scheduler& scheduler) {
  const Fate fate = draw_fate();
  trace_.saw("run " + std::to_string(static_cast<int>(fate)));
  if (fate == Fate::kNotStarted) co_return fail(ErrorCode::kUnavailable, "the machine has no processes left");
  const bool hangs = fate == Fate::kHangs;
  const milliseconds time = hangs ? spec.timeout : draw_length();
  Life life(*this, node, spec.environment["FRESHET_TASK_ID"], spec.environment["FRESHET_LEASE"]);
  co_await sleep_for(scheduler, time);
  life.over(fate == Fate::kWell);
  ProcessResult result;
  result.timed_out = hangs;
  if (hangs || fate == Fate::kKilled) {
    result.signal = 9;
  } else {
    result.exit_status = fate == Fate::kWell ? 0 : fate == Fate::kBusy ? 75 : 1;
  }
  co_return result;
}

}  // namespace freshet::fleet_sim
