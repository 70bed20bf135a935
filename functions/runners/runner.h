// A runner does the work of one task: an HTTP endpoint, a program, a function, or nothing (`fake`). Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "functions/queue/policy/limit_hints.h"
#include "functions/refusal.h"
#include "functions/settings.h"
#include "runtime/invoke/function.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The outcome of one attempt.
struct RunResult {
  enum class Kind { kSuccess, kFailure, kBounced };
  Kind kind = Kind::kSuccess;
  Value result;        // For kSuccess; Null for none.
  std::string error;   // For kFailure, and for kBounced if the downstream was unreachable: for people.
  std::string reason;  // For kBounced by the downstream: its message.
  DownstreamRefusal refusal = DownstreamRefusal::kUnreachable;  // For kBounced.
  std::optional<milliseconds> delay;                            // For kBounced: the earliest next attempt.
  std::optional<milliseconds> leave_alone;  // For kBounced: the downstream asked for this time without any task.
  std::optional<double> cost;               // The actual cost of the task, as the runner reports it.
  std::string bad_cost;                     // The invalid text that it reported instead of a cost.
  LimitHints hints;                         // For kSuccess and kBounced: what the downstream reports about its limit.
  bool answered = true;                     // For kFailure: false after a timeout or a lost connection.
  bool begun = true;                        // False: this daemon has surely not begun, and another one may.
};

class Runner {
 public:
  virtual ~Runner() = default;
  // `task` is as stored after the claim, `lease` its token. Destroying the Async ends the work. The runner outlives it.
  virtual Async<RunResult> run(ItemRef task, std::string lease) = 0;
};

// Null for RunnerSettings::Kind::kNone. Services outlive the runner. `trace_id`: the header of the trace for functions
// that it invokes; empty: a new trace each.
std::unique_ptr<Runner> make_runner(const RunnerSettings& settings, Services& services, std::string trace_id = {});

// The place where tasks are worked on, for people: a URL without its query, a program without its arguments (both may
// hold secrets), or "function NAME". Empty if there is none.
std::string place_of(const RunnerSettings& settings);

// The body for the handler: one JSON object with plain values, every attribute by its name.
std::string task_json(const ItemRef& task, std::string_view lease);

}  // namespace freshet
