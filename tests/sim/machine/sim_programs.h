// Programs of a simulation. One for each task reads it, works for a while, and ends well, badly, with garbage, killed,
// out of memory, or not at all. One that stays serves a function through the Runtime API, and does the same to its
// invocations. The twin of app/spawner.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/ports.h"

namespace freshet::sim {

// How programs of a run behave. Outlives the spawners.
struct ProgramPlay {
  Random random{0};
  std::function<bool()> calm;                             // They work well from now on.
  std::function<void(const std::string& input)> started;  // One has read its input.
  // One that stays is about to answer that.
  std::function<void(const std::string& input, const std::string& result)> answers;
  // One gave up a request for an event, or was ended while it waited: the daemon may have sent one.
  std::function<void()> lost_event;
  bool daemon_ends = false;  // With its programs: no attempt is counted for what they wait for.
  std::function<void(const std::string& what)> saw;
  // The machine outside of the daemon, where programs that outlive it run.
  Scheduler* outside = nullptr;
  HttpClient* http = nullptr;
};

// The scheduler is the daemon's: its programs end with it.
class SimPrograms final : public Spawner {
 public:
  SimPrograms(Scheduler& scheduler, ProgramPlay& play) : scheduler_(scheduler), play_(play) {}
  Async<Result<ProcessResult>> run(ProcessSpec spec) override;
  std::unique_ptr<Program> start(ProcessSpec spec, ProgramWatcher& watcher) override;

 private:
  Scheduler& scheduler_;
  ProgramPlay& play_;
};

}  // namespace freshet::sim
