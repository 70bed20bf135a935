// The figures of a run, computed from its ledger.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/lab/ledger.h"

namespace freshet::lab {

// One bin of the time line, by when tasks were created.
struct Bin {
  uint64_t created = 0;
  uint64_t in_time = 0;
  double share() const { return created == 0 ? 1 : static_cast<double>(in_time) / static_cast<double>(created); }
};
inline constexpr milliseconds kBin{250};

struct Figures {
  // By name, as in docs/overload-experiments.md; shares are of 1, times in ms. A figure that there is none of is left
  // out.
  std::map<std::string, double> values;
  std::vector<double> ages;  // At start, ms: percentiles 0, 1, ... 100. Empty if nothing was started.
  std::vector<Bin> bins;
};

Figures figures_of(const Ledger& ledger);

// Over seeds.
struct Estimate {
  double mean = 0;
  double half_width = 0;  // Half of the mean's 95 % confidence interval; 0 for a single seed.
};
Estimate estimate(const std::vector<double>& samples);

}  // namespace freshet::lab
