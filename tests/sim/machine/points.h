// The simulator's side of base/points.h: how often each rare branch was taken, and the fault that is planted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace freshet::sim {

// A fault that can be planted into the product while it runs. `back`: it takes back a fix of this project's history;
// otherwise it was written for the purpose.
struct PlantedFault {
  const char* name;
  bool back;
  const char* what;
  // The parts of a plan without which the product never comes by, separated by spaces; "" if any seed may do.
  const char* needs = "";
};

const std::vector<PlantedFault>& planted_faults();
// Plants one of them, and only that; "" none. False if there is no such fault.
bool plant(const std::string& name);
// True if the planted fault stood where the product came by.
bool planted_was_met();

// A rare branch of the product that a run can make common (FRESHET_OFTEN).
struct RareBranch {
  const char* name;
  const char* what;
};

const std::vector<RareBranch>& rare_branches();
// From now on some of them are common, as `seed` has it; without one, none.
void make_common(std::optional<uint64_t> seed);

// Branches of the product and how often each was taken since the last call.
std::map<std::string, uint64_t> take_reached();

}  // namespace freshet::sim
