// A recorded load under a policy, in simulated time: what `freshet simulate` says.
#pragma once

#include <string>
#include <vector>

#include "app/lab/downstream_text.h"
#include "app/lab/policy.h"
#include "app/lab/product.h"
#include "app/lab/trace.h"

namespace freshet::lab {

struct TraceOutcome {
  uint64_t tasks = 0;
  uint64_t done = 0;  // Until the end of the recording. So too the next three.
  uint64_t in_time = 0;
  uint64_t shed = 0;
  uint64_t refused = 0;   // Calls that the limiter behind the queue refused.
  double age_p50_ms = 0;  // At start.
  double age_p99_ms = 0;
};

// Calls the downstream for a task of the trace, which must outlive it.
LimiterEach::Caller caller_of(const Trace& trace, LimitedBy each);

// The recording, which must outlive it, at so many slots; 0: as many tasks as were in work at once, or more if the
// recorded policy let more be.
Scenario scenario_of(const Recording& recording, int slots);

// The settings of a queue, and how they change.
struct TracePolicy {
  QueueSettings settings;
  std::vector<SettingsStep> changes = {};
};

// The recorded policy and its changes, all with some settings changed from the start on; where the recording does not
// hold a policy, the defaults with those. kValidation, naming the setting: it is unknown, wrong, or nothing that a
// simulation of a recording can show.
Result<TracePolicy> recorded_policy(const Recording& recording, const Environment& changes);

// kValidation if the recording cannot be simulated without being told more: workers gave calls back, and it is not
// known what limiter refused them.
Result<void> check_downstream(const Recording& recording, bool is_known);

// Sentences for people: what "in time" means, what the simulation takes for granted, what it leaves out.
std::vector<std::string> assumptions(const Recording& recording, const Scenario& scenario,
                                     const DownstreamSpec& downstream);

// `scenario` is of that recording. The seed is for service times beyond those recorded. Errors as of run_product().
Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const TracePolicy& policy,
                               const DownstreamSpec& downstream, uint64_t seed);
// Under one of the lab's policies. kValidation if there is a limiter and the policy is none of the product.
Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const Policy& policy,
                               const DownstreamSpec& downstream, uint64_t seed);

}  // namespace freshet::lab
