// The figures of a run, computed from its ledger.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/lab/ledger.h"

namespace freshet::lab {

// One bin of the time line, by the creation times of tasks.
struct Bin {
  uint64_t created = 0;
  uint64_t in_time = 0;
  double share() const { return created == 0 ? 1 : static_cast<double>(in_time) / static_cast<double>(created); }
};
inline constexpr milliseconds kBin{250};

struct Figures {
  // By name, as in docs/overload-experiments.md; shares are from 0 to 1, times in ms. A figure without a value is left
  // out.
  std::map<std::string, double> values;
  std::vector<double> ages;  // Percentiles 0, 1, ... 100 of the age at start, in ms. Empty if nothing was started.
  std::vector<Bin> bins;
};

Figures figures_of(const Ledger& ledger);

// A figure over all seeds.
struct Estimate {
  double mean = 0;
  double half_width = 0;  // Half of the mean's 95 % confidence interval; 0 for a single seed.
};
Estimate estimate(const std::vector<double>& samples);

}  // namespace freshet::lab
