// The lab's experiment about limits: a flood of tasks, and a downstream with an unknown limit that changes.
// docs/overload-experiments.md, "Limits".
//
// 200 tasks arrive per second, half of them worthless after 2 s and half after 30 s; one in a thousand belongs to a
// quiet group. The downstream grants 20, then 10, then 40 calls per second, a phase each; a call takes 200 ms on
// average. After each change, the figures leave out max(10 s, two windows of the limiter). A phase lasts 120 s, or 240
// s for the window of 60 s, which would otherwise leave nothing to count.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/lab/limited.h"
#include "app/lab/real/contender.h"
#include "base/result.h"
#include "functions/settings.h"

namespace freshet::lab {

struct LimitPolicy {
  std::string name;
  std::string title;     // For people.
  bool oracle = false;   // Knows the limit: it calls whenever a call would be granted.
  bool product = false;  // Freshet's queue and processor, with these settings.
  Environment settings{};
  bool newest_first = false;  // For models of others, which all start tasks by a bucket of 20 a second.
};
// The oracle first, then policies of the product, then models of others.
const std::vector<LimitPolicy>& limit_policies();
// kValidation with the existing names.
Result<LimitPolicy> limit_policy_of(std::string_view name);

struct LimitCase {
  LimiterKind limiter = LimiterKind::kTokenBucket;
  HintKind hints = HintKind::kNone;
  uint64_t seed = 1;         // Determines the arrivals, the service times, the bucket's size, the grid, and the form of
                             // the headers.
  bool quiet_alone = false;  // True: without the flood.
  seconds phase{0};          // The duration of each limit; 0: as described above.
};

// Figures of the spans that count (see above).
struct LimitFigures {
  uint64_t in_time = 0;  // Calls that ended before their task's deadline.
  uint64_t calls = 0;
  uint64_t refused = 0;                           // The calls among these that were refused.
  uint64_t refused_in_all = 0, calls_in_all = 0;  // Over the whole run.
  std::vector<uint64_t> in_time_by_phase;
  double simulated = 0;
  std::vector<double> quiet_ms;  // Milliseconds from creation to end of the quiet group's tasks; infinite if a task
                                 // never ended in time.
};

// kCorruption as in run_product().
Result<LimitFigures> run_limits(const LimitCase& one, const LimitPolicy& policy);
// Like run_limits(), with the daemon itself in real time. `policy` must be one of `product`. Errors as run_real(). With
// `check_simulate`, `simulated` becomes the number of tasks done in time by `freshet simulate` on the recorded run,
// divided by the actual number.
Result<LimitFigures> run_limits_real(const LimitCase& one, const LimitPolicy& policy, const RealOptions& options);

// One row of the report: over all seeds.
struct LimitCell {
  LimiterKind limiter = LimiterKind::kTokenBucket;
  HintKind hints = HintKind::kNone;
  std::string policy;
  double of_oracle = 0;           // Tasks done in time, divided by the oracle's.
  double of_oracle_least = 0;     // The value of the worst seed.
  std::vector<double> by_phase;   // The same, phase by phase.
  double refused = 0;             // As a share of the calls.
  double refused_in_all = 0;      // Includes the time while the limit is learnt.
  double quiet_p99_ms = 0;        // Over all seeds' tasks; infinite if more than one in a hundred never ended.
  double quiet_alone_p99_ms = 0;  // 0: not measured, as in real time.
  double simulated = 0;           // In real time with `check_simulate`: the mean of that figure over the seeds.
  double best_other = 0;          // The `of_oracle` of the best policy that is not the product's.
  bool is_product = false;

  // The bars to reach.
  bool reaches_goodput() const { return of_oracle >= 0.95; }
  bool spares_calls() const { return refused <= (hints == HintKind::kNone ? 0.02 : 0.01); }
  bool serves_quiet() const { return quiet_alone_p99_ms <= 0 || quiet_p99_ms <= 2 * quiet_alone_p99_ms; }
};

struct LimitExperiment {
  std::vector<LimiterKind> limiters;
  std::vector<HintKind> hints;
  std::vector<LimitPolicy> policies;  // Does not list the oracle, which always runs.
  uint64_t first_seed = 1001;
  int seeds = 10;
  int jobs = 1;
  // If set, policies of the product run in real time, with phases of this length; the others in simulated time beside
  // them.
  std::optional<RealOptions> real = {};
  seconds phase{0};
  // Gets the number of finished runs and of all runs; called by one thread at a time. May be empty.
  std::function<void(size_t, size_t)> on_progress;
};
// Ordered by limiter, headers, policy. Returns the first error of a run, with its cell and seed.
Result<std::vector<LimitCell>> run(const LimitExperiment& experiment);

// As a table of Markdown, and as one JSON document.
std::string limits_table(const std::vector<LimitCell>& cells);
std::string limits_json(const LimitExperiment& experiment, const std::vector<LimitCell>& cells);

}  // namespace freshet::lab
