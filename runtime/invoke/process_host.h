// Runs functions as programs that speak the Lambda Runtime API. A process runs one invocation at a time. A process that
// has answered stays warm for the next one (the most recently used first) until it has been idle for too long or its
// function has changed. Loop thread.
//
// Bounds: as many processes of a function as it may have invocations at a time (places.h), besides those that are
// ending because it has changed; and `max_processes` in all. At that bound an idle process of another function is
// ended; if there is none, the invocation waits its turn, up to its function's timeout, and is then kHostBusy: an
// asynchronous event tries again, a synchronous call is refused. Events wait in their own queue instead (has_room()),
// so that callers do not wait behind thousands of them. While callers wait here, as many events as there are callers
// may wait among them (event_queue.h).
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "runtime/invoke/function_process.h"

namespace freshet {

struct ProcessOptions {
  size_t max_processes = 64;
  ProcessTimes times;
};

class ProcessHost final : public Host, private FunctionProcess::Owner {
 public:
  // All outlive the host. Without an API (in simulations) every invocation fails.
  struct Parts {
    Tables& tables;
    Scheduler& scheduler;
    Spawner& spawner;
    RuntimeApi* api;
    ProcessOptions options;
    EventLog log;
    // Called when the last user of that folder has ended. Never from inside a call to the host.
    std::function<void(const std::string& folder)> on_code_left = {};
  };
  explicit ProcessHost(Parts parts) : parts_(std::move(parts)) {}
  ~ProcessHost() override { end_all(); }

  // Everything that the function can see is durable first. The Async must be destroyed before the host.
  Async<InvokeOutcome> invoke(const FunctionDefinition& function, Invocation invocation) override;
  bool has_room() const override { return invocations_ < parts_.options.max_processes; }

  // From now on processes are started: the endpoint that they get is served. Until then invocations wait. Call it once.
  void serve(ProgramSettings settings);
  // Ends the function's processes: idle ones now, the others when they are idle.
  void forget(const std::string& function);
  void end_all();  // Ends all processes; none is started any more.
  std::map<std::string, ProcessStats> stats() const;
  // True if an invocation or a process runs from the folder.
  bool uses_code(const std::string& folder) const { return code_uses_.contains(folder); }

 private:
  struct Pool {
    FunctionPtr function;  // The definition of the last invocation.
    std::list<std::unique_ptr<FunctionProcess>> processes;
    ProcessStats stats;
  };
  struct Waiting {
    ProcessJob job;
    TimerId timer = 0;
  };

  void on_idle(FunctionProcess& process) override;
  void on_ended(FunctionProcess& process, std::optional<ProcessJob> unstarted) override;
  // Returns false if there is no place for it now: `job` is unchanged.
  bool place(ProcessJob& job);
  // The folder is in use for as long as the result is held.
  std::shared_ptr<const void> use(const std::string& folder);
  void place_or_wait(ProcessJob job);
  void place_waiting();
  void place_waiting_soon();
  bool make_room();
  void give_up(uint64_t number);
  class Caller;
  void abandon(const std::string& function, const std::string& request_id);
  void sweep();

  const Parts parts_;
  ProgramSettings settings_;
  bool serving_ = false;
  bool ended_ = false;
  std::map<std::string, Pool> pools_;        // By function. Pools are never removed: they hold the counts.
  std::map<std::string, size_t> code_uses_;  // The number of invocations and processes that run from each folder.
  size_t processes_ = 0;
  size_t invocations_ = 0;               // The number of calls of invoke() in progress.
  std::map<uint64_t, Waiting> waiting_;  // In order of arrival.
  uint64_t last_waiting_ = 0;
  TimerId sweep_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Tells posted work if this object still exists.
};

}  // namespace freshet
