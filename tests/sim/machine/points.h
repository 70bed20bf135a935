// The simulator's side of base/points.h: counts how often each rare branch was taken, and plants faults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace freshet::sim {

// A fault that can be planted into the product while it runs. `back`: the fault undoes a fix of this project's history;
// otherwise it was written for the purpose.
struct PlantedFault {
  const char* name;
  bool back;
  const char* what;
  // The parts of a plan without which the product never reaches the fault, separated by spaces; "" if any seed may
  // reach it.
  const char* needs = "";
};

const std::vector<PlantedFault>& planted_faults();
// Plants this fault and no other; "" plants none. Returns false if there is no such fault.
bool plant(const std::string& name);
// True if the product has reached the planted fault.
bool planted_was_met();

// A rare branch of the product that a run can make common (FRESHET_OFTEN).
struct RareBranch {
  const char* name;
  const char* what;
};

const std::vector<RareBranch>& rare_branches();
// Makes some of them common, by `seed`; without a seed, none.
void make_common(std::optional<uint64_t> seed);

// Branches of the product and how often each was taken since the last call.
std::map<std::string, uint64_t> take_reached();

}  // namespace freshet::sim
