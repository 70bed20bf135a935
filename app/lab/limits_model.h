// Others that call a limited downstream: the oracle that knows the limit, and queues that were told the one it begins
// with. Pure.
#pragma once

#include <vector>

#include "app/lab/ledger.h"
#include "app/lab/limited.h"

namespace freshet::lab {

struct Caller {
  bool oracle = false;             // Calls whenever a call would be granted; else by a token bucket of
  double rate = 0;                 // that many a second, one at a time.
  bool newest_first = true;        // Else oldest first, whether it still makes sense or not.
  bool obeys_retry_after = false;  // A refusal's Retry-After stops all calls for that long.
  int workers = 64;                // Calls under way at most; not of the oracle.
};

// Works on the arrivals until the scenario is over. A refused task goes back to where it was. The ledger has what
// became of each task; returned is every call that was made.
std::vector<LimitedCall> run_caller(const Caller& caller, const std::vector<Arrival>& arrivals, Limiter& limiter,
                                    Ledger& ledger);

}  // namespace freshet::lab
