// One program that works for a function: starts, asks for events one after the other, ends. Loop thread.
//
//   starting --asks--> busy --answers--> settling --asks, output is all there--> idle --run()--> busy ...
//      any of them --ends, or is ended for a timeout--> ended
//
// It is started for its first job. A job that is given to it while it settles waits for it; if it ends before it has
// been asked that, the owner gets the job back.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/scheduler.h"
#include "runtime/invoke/process_command.h"
#include "runtime/invoke/process_log.h"
#include "runtime/invoke/runtime_api.h"
#include "runtime/ports.h"

namespace freshet {

using FunctionPtr = std::shared_ptr<const FunctionDefinition>;

// Of all processes of a function, since the start.
struct ProcessStats {
  uint64_t starts = 0;
  uint64_t crashes = 0;      // Ended without being told to.
  uint64_t bad_answers = 0;  // Calls of the Runtime API that do not fit: twice, late, for another invocation.
  uint64_t log_lines = 0;
  uint64_t log_dropped_lines = 0;  // Above ProcessLog's rate.
  uint64_t log_dropped_bytes = 0;  // Above the spawner's.
  size_t running = 0;              // Processes now.
};

// How long a process may take where no invocation is charged for it.
struct ProcessTimes {
  milliseconds init{10'000};      // From its start until it first asks for an event; the function's timeout if longer.
  milliseconds settle{2'000};     // From an answer until it asks for the next event.
  milliseconds idle{5 * 60'000};  // Without work; then it is stopped.
};

struct ProcessJob {
  FunctionPtr function;
  Invocation invocation;
  Promise<InvokeOutcome> done;
};

class FunctionProcess final : public RuntimeSession, public ProgramWatcher {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_idle(FunctionProcess& process) = 0;
    // Its end: the owner destroys it, but not from inside this call. `unstarted`: the job it had not been asked to do.
    virtual void on_ended(FunctionProcess& process, std::optional<ProcessJob> unstarted) = 0;
  };
  // All outlive the process.
  struct Parts {
    Owner& owner;
    Spawner& spawner;
    RuntimeApi& api;
    Scheduler& scheduler;
    const ProgramSettings& settings;
    const ProcessTimes& times;
    ProcessStats& stats;
    EventLog log;
    std::shared_ptr<const void> code;  // Holds the folder that it runs from.
  };

  // Starts the program for `first`; a failure becomes the outcome of that.
  FunctionProcess(Parts parts, ProcessJob first);
  FunctionProcess(const FunctionProcess&) = delete;
  FunctionProcess& operator=(const FunctionProcess&) = delete;
  ~FunctionProcess() override;  // Ends the program. Jobs get no outcome.
  void begin();                 // Once, right after construction. May call the owner.

  const FunctionDefinition& function() const { return *function_; }
  bool serves(const FunctionPtr& function) const { return function_ == function || *function_ == *function; }
  bool idle() const { return state_ == State::kIdle; }
  // Idle, and its call for the next event waits: clients may break that off.
  bool ready() const { return idle() && asked_.use_count() > 1; }
  // Answered, and soon idle: a job is taken already.
  bool settling() const { return state_ == State::kSettling && !job_; }
  BootTime idle_since() const { return since_; }
  // ready() or settling().
  void run(ProcessJob job);
  // Nobody waits for the outcome of that invocation any more: if it is in work here, the program ends, and if it is
  // still to be done, it is forgotten. False if it is neither.
  bool abandon(const std::string& request_id);
  // idle(): ends it.
  void stop();
  // Ends it as soon as it is idle.
  void retire();

  // RuntimeSession.
  Async<Result<RuntimeEvent>> next() override;
  Result<void> answer(const std::string& request_id, InvokeOutcome outcome) override;
  Result<void> fail_init(InvokeOutcome outcome) override;

  // ProgramWatcher.
  void on_output(OutputStream stream, std::string bytes, uint64_t dropped) override;
  void on_flushed() override;
  void on_end(Result<ProcessResult> result) override;

 private:
  enum class State { kStarting, kIdle, kBusy, kSettling, kEnding, kEnded };
  using Asked = Promise<Result<RuntimeEvent>>;

  void go_on();  // To the next job, or to idle, when nothing is missing for it.
  void hand_over();
  RuntimeEvent event() const;  // The one in work.
  void finish(InvokeOutcome outcome);
  void deliver();
  void end_after_output();
  void ended();
  void on_timer();
  void set_timer(nanoseconds delay);
  nanoseconds init_limit() const;
  Error misplaced(std::string what);
  void end_lines();  // What was written last counts as a line.
  void write_lines();
  void finish_end();
  void count_lines();
  void log_line(OutputStream stream, std::string_view line, bool cut);
  InvokeOutcome failed(std::string type, const std::string& message) const;  // As the service words it.
  InvokeOutcome exit_outcome(const Result<ProcessResult>& result) const;
  std::string report() const;

  const Parts parts_;
  const FunctionPtr function_;
  State state_ = State::kStarting;
  std::optional<ProcessJob> job_;  // To be done, or in work.
  // Whose outcome is there and waits for the output that belongs to it.
  struct Finished {
    Promise<InvokeOutcome> done;
    InvokeOutcome outcome;
    bool wants_log;
  };
  std::optional<Finished> finished_;
  std::optional<InvokeOutcome> init_failure_;
  std::string request_id_;        // Of the last job: what is written belongs to it.
  std::shared_ptr<Asked> asked_;  // Also held by the call of next() that waits, as long as it does.
  bool flushed_ = true;           // No output can still be on its way.
  // Output that has come and is not logged yet: a step of the loop logs some of it. The spawner bounds what comes.
  struct Output {
    OutputStream stream;
    std::string bytes;
    size_t done = 0;
  };
  std::deque<Output> unwritten_;
  bool flush_told_ = false;  // on_flushed() waits for that.
  std::optional<Result<ProcessResult>> end_told_;
  bool told_bad_answer_ = false;
  bool retired_ = false;
  BootTime since_{};    // Of the state.
  nanoseconds took_{};  // The last invocation.
  TimerId timer_ = 0;
  ProcessLog log_;
  std::unique_ptr<RuntimeDoor> door_;
  std::unique_ptr<Program> program_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // For work that is posted.
};

}  // namespace freshet
