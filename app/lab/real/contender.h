// A queue under test in real time: it gets the scenario's tasks and calls the lab's handler for each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "app/lab/downstream_text.h"
#include "app/lab/ledger.h"
#include "app/lab/policy.h"
#include "base/async.h"
#include "base/result.h"
#include "runtime/ports.h"

namespace freshet::lab {

// A limiter before the handler, and every call that it has seen.
struct RealLimit {
  DownstreamSpec downstream;
  std::vector<LimitedCall> calls = {};
};

struct RealOptions {
  bool records() const { return check_simulate || !record.empty(); }
  bool is_stopped() const { return stopped && stopped(); }

  std::string binary;                // This program: the daemon.
  std::string durability = "sync";   // The daemon's --durability.
  bool check_simulate = false;       // True: also records each run and simulates it with `freshet simulate`.
  std::shared_ptr<RealLimit> limit;  // Null: there is none.
  std::string record;                // Folder for a recording of each run of the daemon; empty: none.
  std::function<bool()> stopped;     // Tells if the experiment should end. Called now and then; may be empty.
};

// The error of a run that ended because of `stopped`.
inline Error stopped_early() {
  return {ErrorCode::kCancelled, "stopped before its end", nullptr};
}

// The time at which a ledger begins. A whole millisecond on the wall clock, in which deadlines are given.
struct Origin {
  BootTime boot;
  WallTime wall;
};

// The objects that a contender uses. All of them outlive it. Loop thread.
struct Bench {
  const Policy& policy;
  Ledger& ledger;
  uint64_t seed;
  const RealOptions& options;
  Scheduler& scheduler;
  HttpClient& http;
  std::string folder;   // An empty folder of its own.
  std::string handler;  // The URL of the handler.
};

// The time that the handler works: until every task has been done or is past its deadline.
nanoseconds length_of_run(const Scenario& scenario);

// Loop thread. Its Asyncs do not outlive it.
class Contender {
 public:
  virtual ~Contender() = default;  // Ends every process that it started.
  // Resolves when it is ready for tasks. Gives up when it is stopped, as finish() does.
  virtual Async<Result<void>> start() = 0;
  // From now on each task of the scenario is created at its time, however long the responses take.
  virtual void begin(Origin origin) = 0;
  // The handler has been closed and all its calls have ended; `done` were answered. Completes the ledger, and compares
  // it with the books, if there are any. kCorruption if they differ.
  virtual Async<Result<void>> finish(uint64_t done) = 0;
  // 0: unknown.
  virtual uint64_t resident_bytes() const { return 0; }
  // Further figures, after finish().
  virtual std::map<std::string, double> figures() { return {}; }
};

// Freshet's daemon with the shipped config/lifo.yaml, as a child of this process. The policy must have a
// daemon_settings(). In real/daemon.cc.
std::unique_ptr<Contender> make_daemon(Bench bench);
// The settings of process_tasks that make the daemon follow the policy. kValidation if it cannot.
Result<std::vector<std::string>> daemon_settings(const Policy& policy, const Scenario& scenario);

// A rival's driver, started by the policy's command in a shell. Its environment has:
//   LAB_HANDLER   the URL to POST {"taskId": "N"} to for task N, from LAB_SLOTS workers
//   LAB_ARRIVALS  a file with a line for each task, from 0: when it is created and when it is due, in milliseconds
// It prints `ready`, reads `start EPOCH_MS` (the zero of the milliseconds), and runs until it is ended. In
// real/rival.cc.
std::unique_ptr<Contender> make_rival(Bench bench);

}  // namespace freshet::lab
