// The experiment in real time: the daemon itself, with its log and its syncs, or a rival; an HTTP handler that takes as
// long as the scenario says; and an open-loop generator: when tasks come is fixed before the run, and how long an
// answer takes is counted from then, not from when the request went out.
#pragma once

#include <map>
#include <string>

#include "app/lab/real/contender.h"

namespace freshet::lab {

// The whole scenario, which takes its duration and a little more; the ledger has what became of each task. Figures that
// only real time has, by name (docs/overload-experiments.md). kValidation if the policy does not run in real time;
// kCorruption when the daemon's books do not balance with the ledger.
Result<std::map<std::string, double>> run_real(const Policy& policy, uint64_t seed, Ledger& ledger,
                                               const RealOptions& options);

// kValidation, saying why it does not.
Result<void> runs_in_real_time(const Policy& policy, const Scenario& scenario);

}  // namespace freshet::lab
