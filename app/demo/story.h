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
  nanoseconds patience{0};  // Its work is worth nothing later than that after its arrival.
  bool quiet = false;       // It belongs to the quiet tenant. The loud one sends a thousand times as much.

  nanoseconds deadline() const { return at + patience; }
};

struct Story {
  nanoseconds length{seconds(120)};
  uint64_t seed = 1;
  double arrivals = 200;                   // A second.
  nanoseconds service = milliseconds(50);  // How long the downstream works on a call.

  // 20 calls a second, then 10, then 40, each for a third of the run. The limit is a token bucket that holds a
  // second's worth.
  lab::LimiterSpec limiter() const;
  double limit_at(nanoseconds at) const;  // Calls a second.
  nanoseconds killed_at() const { return length / 2; }
};

// By arrival. Half of the loud tenant's tasks are worth nothing after 2 s, the others after 30 s; those of the quiet
// tenant after 2 s.
std::vector<StoryTask> tasks_of(const Story& story);

// The moments at which the most tasks could be done in time by somebody who knows the limit and all tasks: a call is
// made as soon as the limit allows one, for the waiting task whose deadline is next. Ends of calls within the run,
// rising. Unit jobs with deadlines: no schedule does more.
std::vector<nanoseconds> possible_ends(const Story& story, const std::vector<StoryTask>& tasks);

// The same of a queue that knows the limit and goes in order of arrival, whatever has become of the deadlines. Only the
// ends that are in time.
std::vector<nanoseconds> fifo_ends(const Story& story, const std::vector<StoryTask>& tasks);

}  // namespace freshet::demo
