#include "app/lab/trace_run.h"

#include <algorithm>

#include "app/lab/figures.h"
#include "app/lab/model.h"
#include "app/lab/product.h"

namespace freshet::lab {

Scenario scenario_of(const Recording& recording, int slots) {
  Scenario scenario;
  scenario.trace = &recording.trace;
  scenario.slots = slots > 0 ? slots : std::max(1, recording.real.most_in_work);
  scenario.duration = std::max(seconds(1), std::chrono::ceil<seconds>(recording.length));
  nanoseconds sum{0};
  for (const auto service : recording.trace.services) sum += service;
  scenario.mean = std::max(nanoseconds(1), sum / static_cast<int64_t>(recording.trace.services.size()));
  return scenario;
}

Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const Policy& policy,
                               uint64_t seed) {
  Ledger ledger(scenario, seed);
  if (policy.product) {
    auto end = run_product(policy, seed, ledger);
    if (!end) return fail(end.error());
  } else {
    run_model(policy, seed, ledger);
  }
  TraceOutcome out;
  const nanoseconds end = recording.length;
  for (const auto& job : ledger.jobs()) {
    const bool done = job.fate == Job::Fate::kStarted && job.end <= end;
    ++out.tasks;
    out.done += done;
    out.in_time += done && job.in_time();
    out.shed += job.fate == Job::Fate::kShed && job.left <= end;
  }
  auto values = figures_of(ledger).values;
  out.age_p50_ms = values["ageP50Ms"];
  out.age_p99_ms = values["ageP99Ms"];
  return out;
}

}  // namespace freshet::lab
