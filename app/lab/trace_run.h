// A recorded load under a policy, in simulated time: the result of `freshet simulate`.
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
  uint64_t done = 0;  // Until the end of the recording, as are the next three.
  uint64_t in_time = 0;
  uint64_t shed = 0;
  uint64_t refused = 0;   // Calls that the limiter behind the queue refused.
  double age_p50_ms = 0;  // At the start of the task.
  double age_p99_ms = 0;
};

// The caller of the downstream for a task of the trace, which must outlive it.
LimiterEach::Caller caller_of(const Trace& trace, LimitedBy each);

// A scenario of the recording, which must outlive it, with this number of slots. 0: the most tasks that were in work at
// once, or more if the recorded policy allowed more.
Scenario scenario_of(const Recording& recording, int slots);

// The settings of a queue, and how they change.
struct TracePolicy {
  QueueSettings settings;
  std::vector<SettingsStep> changes = {};
};

// The recorded policy and its changes, with `changes` applied from the start on; if the recording has no policy, the
// defaults with `changes`. kValidation, naming the setting: it is unknown, wrong, or cannot be simulated from a
// recording.
Result<TracePolicy> recorded_policy(const Recording& recording, const Environment& changes);

// kValidation if the recording alone is not sufficient: workers gave calls back, and the limiter that refused them is
// not known.
Result<void> check_downstream(const Recording& recording, bool is_known);

// Sentences for people: what "in time" means, what the simulation assumes, what it leaves out.
std::vector<std::string> assumptions(const Recording& recording, const Scenario& scenario,
                                     const DownstreamSpec& downstream);

// `scenario` is of that recording. The seed is for service times beyond those recorded. Errors as of run_product().
Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const TracePolicy& policy,
                               const DownstreamSpec& downstream, uint64_t seed);
// The same under one of the lab's policies. kValidation if there is a limiter and the policy is not the product's.
Result<TraceOutcome> run_trace(const Recording& recording, const Scenario& scenario, const Policy& policy,
                               const DownstreamSpec& downstream, uint64_t seed);

}  // namespace freshet::lab
