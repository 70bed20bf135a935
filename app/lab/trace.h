// The load and the outcome of a real queue, read from a recording of its table (freshet record): arrivals, deadlines,
// durations of calls, and the fate of the tasks.
#pragma once

#include <map>
#include <string>

#include "app/lab/scenario.h"
#include "runtime/queue_admin.h"
#include "streams/fixture.h"

namespace freshet::lab {

// The outcome of the recorded run.
struct RealRun {
  uint64_t tasks = 0;
  uint64_t done = 0;
  uint64_t in_time = 0;
  uint64_t shed = 0;       // SHED, or removed by TTL while they waited.
  int most_in_work = 0;    // The most tasks in work at once: there must have been as many slots.
  uint64_t failed = 0;     // Attempts that failed.
  uint64_t refused = 0;    // Attempts that a worker gave back: it had no room, or its downstream refused the call.
  uint64_t pulled = 0;     // Attempts of pull workers, not of the processor.
  uint64_t cancelled = 0;  // Cancelled tasks, except those that a newer task with their key replaced.
};

// The settings that apply from a moment of the recording on.
struct PolicyStep {
  nanoseconds at{0};
  std::map<std::string, std::string> policy;
};

// A part of the queue is paused, or not any more, from a moment of the recording on.
struct PauseStep {
  nanoseconds at{0};
  bool paused = false;
  Pause::Of of = Pause::Of::kQueue;
  std::string name;  // Of the group or key.
};

struct Recording {
  Trace trace;
  RealRun real;
  nanoseconds length{0};  // From the first change to the last.
  // The settings in force at the start; empty if the fixture does not hold them.
  std::map<std::string, std::string> policy = {};
  std::vector<PolicyStep> policy_changes = {};  // Later settings, by time.
  std::vector<PauseStep> pauses = {};           // By time; those at the start are at 0.
};

// kValidation with what is missing: no arrivals, no finished work, missing changes (by their numbers), or a task that
// changes without having been created.
Result<Recording> read_recording(const Fixture& fixture);

}  // namespace freshet::lab
