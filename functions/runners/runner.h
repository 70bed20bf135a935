// Who does the work of one task: an HTTP endpoint, a program, or nobody (`fake`). Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "functions/settings.h"
#include "runtime/invoke/function.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The outcome of one attempt.
struct RunResult {
  enum class Kind { kSuccess, kFailure, kBounced };
  Kind kind = Kind::kSuccess;
  Value result;                             // Of kSuccess; Null for none.
  std::string error;                        // Of kFailure, and of kBounced if nobody could be reached: for people.
  std::string reason;                       // Of kBounced by whoever was reached: what it said.
  std::optional<milliseconds> delay;        // Of kBounced: not before.
  std::optional<milliseconds> leave_alone;  // Of kBounced: the downstream asked for that long without any task.
};

class Runner {
 public:
  virtual ~Runner() = default;
  // `task` is as stored after the claim, `lease` its token. Destroying the Async ends the work. The runner outlives it.
  virtual Async<RunResult> run(ItemRef task, std::string lease) = 0;
};

// Null for RunnerSettings::Kind::kNone. Services outlive the runner.
std::unique_ptr<Runner> make_runner(const RunnerSettings& settings, Services& services);

// Where tasks are worked on, for people: a URL without its query, or a program without its arguments. Both may hold
// secrets. Empty if there is no such place.
std::string place_of(const RunnerSettings& settings);

// The body that the handler gets: one JSON object with plain values, every attribute by its name.
std::string task_json(const ItemRef& task, std::string_view lease);

}  // namespace freshet
