// The experiment in real time: the daemon itself, with its log and its syncs, or a rival; an HTTP handler that takes as
// long as the scenario says; and an open-loop generator: arrival times are fixed before the run, and latency counts
// from them, not from when a request was sent.
#pragma once

#include <map>
#include <string>

#include "app/lab/real/contender.h"

namespace freshet::lab {

// Runs the whole scenario, which takes its duration and a little more; the ledger has the outcome of each task. Returns
// the figures that only real time has, by name (docs/overload-experiments.md). kValidation if the policy does not run
// in real time; kCorruption if the daemon's books do not agree with the ledger.
Result<std::map<std::string, double>> run_real(const Policy& policy, uint64_t seed, Ledger& ledger,
                                               const RealOptions& options);

// kValidation with the reason if the policy does not run in real time.
Result<void> runs_in_real_time(const Policy& policy, const Scenario& scenario);

}  // namespace freshet::lab
