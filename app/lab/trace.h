// A trace of what a queue really went through, read from a recording of its table (freshet record): when tasks came,
// when they were due, how long the calls took, and what became of them.
#pragma once

#include "app/lab/scenario.h"
#include "streams/fixture.h"

namespace freshet::lab {

// The outcome of the recorded run.
struct RealRun {
  uint64_t tasks = 0;
  uint64_t done = 0;
  uint64_t in_time = 0;
  uint64_t shed = 0;     // SHED, or removed by TTL while they waited.
  int most_in_work = 0;  // At once: as many slots as there must have been.
};

struct Recording {
  Trace trace;
  RealRun real;
  nanoseconds length{0};  // From the first change to the last.
};

// kValidation, naming what is missing: no arrivals, no finished work, changes that are not there (by their numbers), a
// task that changes without ever having come.
Result<Recording> read_recording(const Fixture& fixture);

}  // namespace freshet::lab
