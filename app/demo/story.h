// The story of `freshet demo limits`: which tasks arrive when, and what their downstream allows. Pure: the same seed
// gives the same story. Times count from the start of the run.
#pragma once

#include <cstdint>
#include <vector>

#include "app/lab/limiter.h"
#include "base/clock.h"

namespace freshet::demo {

struct StoryTask {
  nanoseconds at{0};        // Its arrival.
  nanoseconds patience{0};  // The time after its arrival from which on its work is worthless.
  bool quiet = false;       // True if it belongs to the quiet tenant. The loud one sends a thousand times as many.

  nanoseconds deadline() const { return at + patience; }
};

struct Story {
  nanoseconds length{seconds(120)};
  uint64_t seed = 1;
  double arrivals = 200;                   // A second.
  nanoseconds service = milliseconds(50);  // The time that the downstream takes for a call.

  // 20 calls a second, then 10, then 40, each for a third of the run. The limit is a token bucket that holds a
  // second's worth.
  lab::LimiterSpec limiter() const;
  double limit_at(nanoseconds at) const;  // Calls a second.
  nanoseconds killed_at() const { return length / 2; }
};

// Ordered by arrival. Half of the loud tenant's tasks are worthless after 2 s, the others after 30 s; those of the
// quiet tenant after 2 s.
std::vector<StoryTask> tasks_of(const Story& story);

// The times at which the most tasks would be done in time with full knowledge of the limit and of all tasks: a call is
// made as soon as the limit allows one, for the waiting task with the earliest deadline. The ends of these calls within
// the run, rising. No schedule of unit jobs with deadlines does more.
std::vector<nanoseconds> possible_ends(const Story& story, const std::vector<StoryTask>& tasks);

// The same for a queue that knows the limit and works in order of arrival, without regard to deadlines. Only the ends
// that are in time.
std::vector<nanoseconds> fifo_ends(const Story& story, const std::vector<StoryTask>& tasks);

}  // namespace freshet::demo
