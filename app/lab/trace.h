// A trace of what a queue really went through, read from a recording of its table (freshet record): when tasks came,
// when they were due, how long the calls took, and what became of them.
#pragma once

#include <map>
#include <string>

#include "app/lab/scenario.h"
#include "streams/fixture.h"

namespace freshet::lab {

// The outcome of the recorded run.
struct RealRun {
  uint64_t tasks = 0;
  uint64_t done = 0;
  uint64_t in_time = 0;
  uint64_t shed = 0;       // SHED, or removed by TTL while they waited.
  int most_in_work = 0;    // At once: as many slots as there must have been.
  uint64_t failed = 0;     // Attempts that failed.
  uint64_t refused = 0;    // Attempts that a worker gave back: it had no room, or its downstream refused the call.
  uint64_t pulled = 0;     // Attempts of workers that pull, not of the processor.
  uint64_t cancelled = 0;  // Tasks that were cancelled, but for those that a newer one of their key replaced.
};

// The settings that are in force from a moment of the recording on.
struct PolicyStep {
  nanoseconds at{0};
  std::map<std::string, std::string> policy;
};

struct Recording {
  Trace trace;
  RealRun real;
  nanoseconds length{0};  // From the first change to the last.
  // The settings in force at the start; empty if the fixture does not hold them.
  std::map<std::string, std::string> policy = {};
  std::vector<PolicyStep> policy_changes = {};  // Later ones, by time.
};

// kValidation, naming what is missing: no arrivals, no finished work, changes that are not there (by their numbers), a
// task that changes without ever having come.
Result<Recording> read_recording(const Fixture& fixture);

}  // namespace freshet::lab
