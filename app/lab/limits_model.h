// Models of other callers of a limited downstream: the oracle that knows the limit, and queues that are given the first
// limit. Pure.
#pragma once

#include <vector>

#include "app/lab/ledger.h"
#include "app/lab/limited.h"

namespace freshet::lab {

struct Caller {
  bool oracle = false;             // Calls whenever a call would be granted; otherwise by a token bucket of
  double rate = 0;                 // this many per second, one at a time.
  bool newest_first = true;        // Otherwise oldest first, even if a task is already late.
  bool obeys_retry_after = false;  // A refusal's Retry-After stops all calls for that time.
  int workers = 64;                // The most concurrent calls; does not apply to the oracle.
};

// Works on the arrivals until the scenario is over. A refused task goes back to its position. The ledger has the
// outcome of each task; returns every call that was made.
std::vector<LimitedCall> run_caller(const Caller& caller, const std::vector<Arrival>& arrivals, Limiter& limiter,
                                    Ledger& ledger);

}  // namespace freshet::lab
