// A recorded load under a policy, in simulated time: what `freshet simulate` says.
#pragma once

#include <string>

#include "app/lab/policy.h"
#include "app/lab/trace.h"

namespace freshet::lab {

struct TraceOutcome {
  uint64_t tasks = 0;
  uint64_t done = 0;  // Until the end of the recording. So too the next two.
  uint64_t in_time = 0;
  uint64_t shed = 0;
  double age_p50_ms = 0;  // At start.
  double age_p99_ms = 0;
};

// The recording, which must outlive it, at so many slots; 0: as many tasks as were in work at once.
Scenario scenario_of(const Recording& recording, int slots);
// `scenario` is of that recording. The seed is for service times beyond those recorded. Errors as of run_product().
Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const Policy& policy,
                               uint64_t seed);

}  // namespace freshet::lab
