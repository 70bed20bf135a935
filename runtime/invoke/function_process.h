// One program that works for a function: starts, asks for events one after the other, ends. Loop thread.
//
//   starting --asks--> busy --answers--> settling --asks, output is all there--> idle --run()--> busy ...
//      any of them --ends, or is ended for a timeout--> ended
//
// It is started for its first job. A job that it gets while it settles waits; if the program ends before it has fetched
// the job, the owner gets the job back.
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

// Counts over all processes of a function, since the start.
struct ProcessStats {
  uint64_t starts = 0;
  uint64_t crashes = 0;      // The program ended without a request of the daemon.
  uint64_t bad_answers = 0;  // Calls of the Runtime API that are out of order: repeated, late, or for another
                             // invocation.
  uint64_t log_lines = 0;
  uint64_t log_dropped_lines = 0;  // Lines beyond ProcessLog's rate.
  uint64_t log_dropped_bytes = 0;  // Bytes beyond the spawner's limit.
  size_t running = 0;              // The processes that exist now.
};

// The times that a process may take while no invocation is charged for it.
struct ProcessTimes {
  milliseconds init{10'000};      // From its start until it first asks for an event; the function's timeout if longer.
  milliseconds settle{2'000};     // From an answer until it asks for the next event.
  milliseconds idle{5 * 60'000};  // The time without work after which it is stopped.
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
    // Tells that the process has ended: the owner destroys it, but not from inside this call. `unstarted`: the job that
    // the program never fetched.
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
    std::shared_ptr<const void> code;  // Keeps the folder that it runs from in use.
  };

  // Starts the program for `first`; a failure to start becomes the outcome of that job.
  FunctionProcess(Parts parts, ProcessJob first);
  FunctionProcess(const FunctionProcess&) = delete;
  FunctionProcess& operator=(const FunctionProcess&) = delete;
  ~FunctionProcess() override;  // Ends the program. Its jobs get no outcome.
  void begin();                 // Call it once, right after construction. It may call the owner.

  const FunctionDefinition& function() const { return *function_; }
  bool serves(const FunctionPtr& function) const { return function_ == function || *function_ == *function; }
  bool idle() const { return state_ == State::kIdle; }
  // True if it is idle and its call for the next event waits (the client may abort it).
  bool ready() const { return idle() && asked_.use_count() > 1; }
  // True if it has answered and will soon be idle; it accepts a job now.
  bool settling() const { return state_ == State::kSettling && !job_; }
  BootTime idle_since() const { return since_; }
  // True if it was started without a job and is still starting. It accepts a job already, so that an event does not
  // start a second process meanwhile.
  bool getting_ready() const { return state_ == State::kStarting && warm_up_ && !job_ && !init_failure_; }
  // True unless it is ending: it takes jobs, now or later.
  bool stays() const { return state_ != State::kEnding && state_ != State::kEnded && !retired_ && !init_failure_; }
  // Requires ready(), settling() or getting_ready().
  void run(ProcessJob job);
  // Nobody waits for the outcome of that invocation any more. If the program works on it, the program is ended; a job
  // that was not fetched is dropped. Returns false if neither is the case.
  bool abandon(const std::string& request_id);
  // Ends it. Requires idle().
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

  void go_on();  // Continues with the next job, or becomes idle, once nothing is missing for that.
  void hand_over();
  RuntimeEvent event() const;                  // The event of the current job.
  void started(const InvokeOutcome& outcome);  // Answers the request that only wanted it to start.
  void finish(InvokeOutcome outcome);
  void deliver();
  void end_after_output();
  void ended();
  void on_timer();
  void set_timer(nanoseconds delay);
  nanoseconds init_limit() const;
  Error misplaced(std::string what);
  void end_lines();  // Counts unfinished output as a line.
  void write_lines();
  void finish_end();
  void count_lines();
  void log_line(OutputStream stream, std::string_view line, bool cut);
  InvokeOutcome failed(std::string type, const std::string& message) const;  // The outcome of a failure, in the
                                                                             // service's words.
  InvokeOutcome exit_outcome(const Result<ProcessResult>& result) const;
  std::string report() const;

  const Parts parts_;
  const FunctionPtr function_;
  State state_ = State::kStarting;
  std::optional<ProcessJob> job_;  // The job that waits to be fetched, or is in work.
  // Set if the process was started without a job: the outcome of its start.
  std::optional<Promise<InvokeOutcome>> warm_up_;
  // A job whose outcome has arrived and that waits for the rest of its output.
  struct Finished {
    Promise<InvokeOutcome> done;
    InvokeOutcome outcome;
    bool wants_log;
  };
  std::optional<Finished> finished_;
  std::optional<InvokeOutcome> init_failure_;
  std::string request_id_;        // The request id of the last job: output belongs to it.
  std::shared_ptr<Asked> asked_;  // A waiting call of next() also holds it while it waits.
  bool flushed_ = true;           // True if no more output can arrive.
  // Output that has arrived and is not logged yet: each step of the loop logs a part. The spawner bounds the amount.
  struct Output {
    OutputStream stream;
    std::string bytes;
    size_t done = 0;
  };
  std::deque<Output> unwritten_;
  bool flush_pending_ = false;  // True if on_flushed() must continue with that.
  std::optional<Result<ProcessResult>> reported_end_;
  bool bad_answer_logged_ = false;
  bool retired_ = false;
  BootTime since_{};    // The time since which it is in this state.
  nanoseconds took_{};  // The duration of the last invocation.
  TimerId timer_ = 0;
  ProcessLog log_;
  std::unique_ptr<RuntimeDoor> door_;
  std::unique_ptr<Program> program_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Tells posted work if this object still exists.
};

}  // namespace freshet
