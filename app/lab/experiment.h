// The experiment: every scenario under every policy, over several seeds. Runs are spread over threads; each run is
// alone in its own simulated world.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/lab/figures.h"
#include "app/lab/policy.h"
#include "app/lab/real/contender.h"

namespace freshet::lab {

struct Experiment {
  std::vector<Scenario> scenarios;
  std::vector<Policy> policies;
  uint64_t first_seed = 1001;
  int seeds = 5;
  int jobs = 1;  // Always 1 in real time.
  // In real time: policies of the daemon, and rivals, run in real time; the clairvoyant runs in simulated time beside
  // them.
  std::optional<RealOptions> real;
  // Gets the number of finished runs and of all runs. One thread calls it at a time. May be empty.
  std::function<void(size_t, size_t)> on_progress;
};

// One scenario under one policy.
struct Cell {
  Scenario scenario;
  Policy policy;
  std::map<std::string, Estimate> figures;
  Figures first;  // The first seed's figures, for plots.
};

// Ordered by scenario, then by policy. If the clairvoyant takes part, the others have `ofClairvoyant`: their goodput
// divided by its, seed by seed. Returns the first error of a run, with scenario, policy and seed.
Result<std::vector<Cell>> run(const Experiment& experiment);

}  // namespace freshet::lab
