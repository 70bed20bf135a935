// Chooses the scenarios of an experiment.
#pragma once

#include <string>
#include <vector>

#include "app/lab/scenario.h"

namespace freshet::lab {

// As given on the command line; an empty list means the default.
struct Plan {
  std::vector<std::string> shapes;
  std::vector<double> loads;
  std::vector<std::string> services;
  std::vector<std::string> scales;  // "16x100ms", "1x1ms": slots and mean service time.
  std::vector<double> deadlines;
  std::vector<int> retries;
  bool groups = false;  // True: a quiet group beside one that is a thousand times louder.
  int seconds = 0;      // The length of each run; 0: as each shape needs.

  bool is_default() const;
};

inline const std::vector<double> kLoads = {0.5, 0.8, 0.95, 1, 1.05, 1.2, 1.5, 2, 3, 5, 10};

// Sets the values that the user did not choose, for runs in real time: some loads at the slower scale, a few seconds
// each.
Plan for_real_time(Plan plan);

// The product of all lists; or, if nothing was chosen, the scenarios of docs/overload-experiments.md: all loads, the
// steps, the stall, bursts, retries and groups. kValidation names the wrong value.
Result<std::vector<Scenario>> scenarios_of(const Plan& plan);

}  // namespace freshet::lab
