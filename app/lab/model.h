// Simulates a queue and its workers, for policies that Freshet does not offer, and to check those that it does. The
// same objects as in the real queue make the decisions (functions/queue/policy); the queue around them is only a sorted
// set.
#pragma once

#include "app/lab/ledger.h"
#include "app/lab/policy.h"

namespace freshet::lab {

// Runs the whole scenario; the ledger has the outcome of each task. `policy` is not one of `product`.
void run_model(const Policy& policy, uint64_t seed, Ledger& ledger);

}  // namespace freshet::lab
