// The programs of a simulation, in place of app/spawner. A program for a task reads the task, works for a while, and
// then succeeds, fails, answers garbage, is killed, runs out of memory, or never ends. A program that stays serves a
// function through the Runtime API, and treats its invocations in the same ways.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/ports.h"

namespace freshet::sim {

// The behaviour of the programs of a run. Must outlive the spawners.
struct ProgramPlay {
  Random random{0};
  std::function<bool()> calm;                             // Returns true once all programs are to succeed.
  std::function<void(const std::string& input)> started;  // Called when a program has read its input.
  // Called when a program that stays is about to answer `result`.
  std::function<void(const std::string& input, const std::string& result)> answers;
  // Called when a program that stays gave up its request for an event, or was ended while it waited: the daemon may
  // have sent it one.
  std::function<void()> lost_event;
  bool daemon_ends = false;  // The daemon ends with its programs, so no attempt is counted for their requests.
  std::function<void(const std::string& what)> saw;
  // If it is set, it does what a program for a task does, instead of what is here.
  std::function<Async<Result<ProcessResult>>(ProcessSpec spec, Scheduler& scheduler)> runs;
  // The loop and the client of programs that outlive the daemon.
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
