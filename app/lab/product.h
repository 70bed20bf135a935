// Runs a scenario on the real product: Freshet's queue, processor and store (in memory), and the real loop on a
// simulated clock. Only the handler belongs to the lab: it takes as long as the scenario says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/lab/ledger.h"
#include "app/lab/limited.h"
#include "app/lab/policy.h"
#include "app/lab/trace.h"
#include "base/result.h"

namespace freshet::lab {

// The books of the queue at the end.
struct ProductEnd {
  std::map<std::string, uint64_t> depth;  // By state.
  std::string recording;                  // With `records`: a fixture of the whole run.
  uint64_t peak_store_bytes = 0;          // Counts items and indexes.
};

// Settings that apply from a moment of the run on.
struct SettingsStep {
  nanoseconds at{0};
  QueueSettings settings;
};

// The conditions of a run.
struct ProductSetup {
  QueueSettings settings;
  std::vector<SettingsStep> changes = {};  // By time.
  std::vector<PauseStep> pauses = {};      // By time.
  // Works on the tasks; null: the scenario's slots do. Outlives the run.
  LimitedDownstream* downstream = nullptr;
  int downstream_slots = 0;  // Its slots, as for LimitedDownstream::begin().
  bool records = false;
  std::optional<nanoseconds> length = {};  // The length of the run; empty: until some time after the last arrival.
};
// The setup of the queue for one of the policies that are `product`.
ProductSetup setup_of(const Policy& policy, const Scenario& scenario);

// Runs the whole scenario; the ledger has the outcome of each task. kCorruption if the queue's books do not agree with
// each other or with the ledger.
Result<ProductEnd> run_product(const ProductSetup& setup, uint64_t seed, Ledger& ledger);
Result<ProductEnd> run_product(const Policy& policy, uint64_t seed, Ledger& ledger);

}  // namespace freshet::lab
