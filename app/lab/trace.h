// The load and the outcome of a real queue, read from a recording of its table (freshet record): arrivals, deadlines,
// durations of calls, and the fate of the tasks.
#pragma once

#include <map>
#include <string>

#include "app/lab/scenario.h"
#include "runtime/api/queue_admin.h"
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

// A call as it was recorded.
struct TraceCall {
  nanoseconds began{0};
  nanoseconds took{0};
  bool failed = false;
  bool refused = false;  // The worker gave the task back.
  // The actual cost, divided by the cost that the task was created with.
  double cost_ratio = 1;
};

// A task begins or ceases to wait.
struct TraceWait {
  nanoseconds at{0};
  size_t task = 0;  // Its index among the arrivals.
  bool waits = false;
  nanoseconds due{0};  // It is delayed until then; a time in the past if it is not delayed.
};

inline constexpr nanoseconds kNeverDone{-1};

// Pauses or resumes a part of the queue at a moment of the recording.
struct PauseStep {
  nanoseconds at{0};
  bool paused = false;
  Pause::Of of = Pause::Of::kQueue;
  std::string name;  // The group or key.
};

struct Recording {
  Trace trace;
  RealRun real;
  nanoseconds length{0};  // From the first change to the last.
  // The settings in force at the start; empty if the fixture does not hold them.
  std::map<std::string, std::string> policy = {};
  std::vector<PolicyStep> policy_changes = {};  // Later settings, by time.
  WallTime start{};                             // The time of the first change.
  size_t waiting = 0;                  // The number of tasks that waited at the start: the first ones of the trace.
  std::vector<TraceCall> calls = {};   // By start time: the calls of `trace`, and the refused ones.
  std::vector<TraceWait> waits = {};   // By time.
  std::vector<nanoseconds> done = {};  // When each task of the trace became SUCCESS; kNeverDone if it did not.
  std::vector<PauseStep> pauses = {};  // By time; those at the start are at 0.
};

// kValidation with what is missing: no arrivals, no finished work, missing changes (by their numbers), or a task that
// changes without having been created.
Result<Recording> read_recording(const Fixture& fixture);

}  // namespace freshet::lab
