// The lab's question about limits: what comes of a flood whose downstream has a limit that nobody tells, and that
// changes. docs/overload-experiments.md, "Limits".
//
// 200 tasks a second come, half of them worthless after 2 s and half after 30 s; one of a thousand belongs to a quiet
// group. The downstream grants 20, then 10, then 40 calls a second, a phase each; a call takes 200 ms on average. What
// counts begins max(10 s, two windows of the limiter) after each change. A phase lasts 120 s, and 240 s for the window
// of 60 s, of which nothing would be left else.
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
  bool newest_first = false;  // The others start tasks by a token bucket of 20 a second, the first limit.
};
// The oracle first, then those that run in the product, then the models of others.
const std::vector<LimitPolicy>& limit_policies();
// kValidation, naming those that there are.
Result<LimitPolicy> limit_policy_of(std::string_view name);

struct LimitCase {
  LimiterKind limiter = LimiterKind::kTokenBucket;
  HintKind hints = HintKind::kNone;
  uint64_t seed = 1;         // Decides the arrivals, the service times, the bucket's size, the grid, the headers' form.
  bool quiet_alone = false;  // Without the flood.
  seconds phase{0};          // How long each limit lasts; 0: as said above.
};

// Figures of the spans that count.
struct LimitFigures {
  uint64_t in_time = 0;  // Calls that ended before their task's deadline.
  uint64_t calls = 0;
  uint64_t refused = 0;                           // So many of these calls.
  uint64_t refused_in_all = 0, calls_in_all = 0;  // In the whole run.
  std::vector<uint64_t> in_time_by_phase;
  double simulated = 0;
  std::vector<double> quiet_ms;  // The quiet group's tasks, from creation to end; infinite if it never ended in time.
};

// kCorruption as run_product().
Result<LimitFigures> run_limits(const LimitCase& one, const LimitPolicy& policy);
// The same with the daemon itself, in real time. `policy` is one of `product`. Errors as run_real(). With
// `check_simulate`, `simulated` becomes the tasks done in time as `freshet simulate` says of the recorded run, over
// those that were.
Result<LimitFigures> run_limits_real(const LimitCase& one, const LimitPolicy& policy, const RealOptions& options);

// One row of the report: over all seeds.
struct LimitCell {
  LimiterKind limiter = LimiterKind::kTokenBucket;
  HintKind hints = HintKind::kNone;
  std::string policy;
  double of_oracle = 0;           // Tasks done in time, over the oracle's.
  double of_oracle_least = 0;     // The seed that has least.
  std::vector<double> by_phase;   // The same, phase by phase.
  double refused = 0;             // Share of the calls.
  double refused_in_all = 0;      // Also while the limit is learnt.
  double quiet_p99_ms = 0;        // Over all seeds' tasks; infinite where more than one in a hundred never ended.
  double quiet_alone_p99_ms = 0;  // 0: not measured, as in real time.
  double simulated = 0;           // In real time with `check_simulate`: mean of that figure over the seeds.
  double best_other = 0;          // `of_oracle` of the best policy that is none of the product.
  bool is_product = false;

  // The bars.
  bool reaches_goodput() const { return of_oracle >= 0.95; }
  bool spares_calls() const { return refused <= (hints == HintKind::kNone ? 0.02 : 0.01); }
  bool serves_quiet() const { return quiet_alone_p99_ms <= 0 || quiet_p99_ms <= 2 * quiet_alone_p99_ms; }
};

struct LimitExperiment {
  std::vector<LimiterKind> limiters;
  std::vector<HintKind> hints;
  std::vector<LimitPolicy> policies;  // Without the oracle, which always runs.
  uint64_t first_seed = 1001;
  int seeds = 10;
  int jobs = 1;
  // With it, policies of the product run in real time, with phases of this length; the others in simulated time beside
  // them.
  std::optional<RealOptions> real = {};
  seconds phase{0};
  // Told how many runs are over and how many there are; called by one thread at a time. May be empty.
  std::function<void(size_t, size_t)> on_progress;
};
// In order: by limiter, headers, policy. The first error of a run, with its cell and seed.
Result<std::vector<LimitCell>> run(const LimitExperiment& experiment);

// As a table of Markdown, and as one JSON document.
std::string limits_table(const std::vector<LimitCell>& cells);
std::string limits_json(const LimitExperiment& experiment, const std::vector<LimitCell>& cells);

}  // namespace freshet::lab
