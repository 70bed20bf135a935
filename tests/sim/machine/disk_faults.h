// The faults of a run's disk.
#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "tests/sim/machine/trace.h"
#include "tests/sim/sim_files.h"

namespace freshet::sim {

// Lets calls fail from now on, or fills the disk, or empties it again. `name`: the part of the plan. Returns false if
// the part does not concern the disk.
bool disturb_disk(SimFiles& files, Random& random, Trace& trace, const std::string& name);

// Leaves no space until empty_disk(). `refuses_names`: the disk reports free space, but refuses space and names.
void fill_disk(SimFiles& files, bool refuses_names);
void empty_disk(SimFiles& files);

// Lets a process that starts now die within one of its calls, or before one of its first syncs of the log.
// `removes_much`: the start removes segments of the log; it then rather dies after it has removed one of the first.
void crash_in_start(SimFiles& files, Random& random, bool removes_much);
// Lets the process die within one of the next calls, or soon after the next call of a rare kind. files.on_call(nullptr)
// ends the wait for such a call.
void crash_at_a_call(SimFiles& files, Random& random);

// Files that the log keeps ready in `folder`.
size_t spares_in(SimFiles& files, const std::string& folder);

struct RottenBit {
  std::string path;
  size_t at = 0;  // Offset of its byte.
  std::string before;
  std::string after;
};
// Draws a bit to damage, but changes nothing. It is in a segment in `folder` that is not the last one: damage in the
// last one, behind the last known sync, looks like a torn write. Empty if there is no such segment.
std::optional<RottenBit> draw_bit(SimFiles& files, Random& random, const std::string& folder);

}  // namespace freshet::sim
