// The faults of a run's disk.
#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "tests/sim/machine/trace.h"
#include "tests/sim/sim_files.h"

namespace freshet::sim {

// From now on calls fail, or the disk is full or empties again. `name`: the part of the plan.
void disturb_disk(SimFiles& files, Random& random, Trace& trace, const std::string& name);

struct RottenBit {
  std::string path;
  size_t at = 0;  // Offset of its byte.
  std::string before;
  std::string after;
};
// A bit of a segment in `folder` that is not the last one: in the last one, what is behind the last known sync cannot
// be told from a torn write. Empty if there is none. Changes nothing.
std::optional<RottenBit> draw_bit(SimFiles& files, Random& random, const std::string& folder);

}  // namespace freshet::sim
