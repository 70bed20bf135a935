// The same experiment in the real thing: Freshet's queue, processor and store (in memory), the real loop on a simulated
// clock. Only the handler is the lab's: it takes as long as the scenario says.
#pragma once

#include <map>
#include <string>

#include "app/lab/ledger.h"
#include "app/lab/policy.h"
#include "base/result.h"

namespace freshet::lab {

// The books of the queue at the end.
struct ProductEnd {
  std::map<std::string, uint64_t> depth;  // By state.
  uint64_t peak_store_bytes = 0;          // Of items and indexes.
};

// The whole scenario; the ledger has what became of each task. `policy` is one of `product`. kCorruption when the
// queue's books do not balance with each other or with the ledger.
Result<ProductEnd> run_product(const Policy& policy, uint64_t seed, Ledger& ledger);

}  // namespace freshet::lab
