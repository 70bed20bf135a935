// The faults of a run's disk.
#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "tests/sim/machine/trace.h"
#include "tests/sim/sim_files.h"

namespace freshet::sim {

// From now on calls fail, or the disk is full or empties again. `name`: the part of the plan. False if it is none of
// the disk.
bool disturb_disk(SimFiles& files, Random& random, Trace& trace, const std::string& name);

// No space is left, until empty_disk(). `refuses_names`: the disk says that there is some, and refuses space and names.
void fill_disk(SimFiles& files, bool refuses_names);
void empty_disk(SimFiles& files);

// A process that starts now dies within one of its calls, or before one of its first syncs of the log.
// `removes_much`: the start removes segments of the log, and rather dies when it has removed one of the first.
void crash_in_start(SimFiles& files, Random& random, bool removes_much);
// The process dies within one of the next calls, or a little behind the next one of a rare kind. The caller ends the
// wait for that by files.on_call(nullptr).
void crash_at_a_call(SimFiles& files, Random& random);

// Files that the log keeps ready in `folder`.
size_t spares_in(SimFiles& files, const std::string& folder);

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
