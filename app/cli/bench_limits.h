// freshet bench overload --scenarios limits. docs/overload-experiments.md, "Limits".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/lab/real/contender.h"

namespace freshet::cli {

// The lists are as given; empty: all.
struct LimitsOptions {
  std::vector<std::string> limiters;
  std::vector<std::string> headers;
  std::vector<std::string> policies;
  uint64_t first_seed = 1001;
  int seeds = 10;
  int jobs = 1;
  bool json = false;
  int seconds = 0;                            // The length of a run; 0: as the scenarios say, and 60 in real time.
  std::optional<lab::RealOptions> real = {};  // In real time; then empty lists mean a few.
};

// Prints the report; returns the exit status.
int run_bench_limits(const LimitsOptions& options);

}  // namespace freshet::cli
