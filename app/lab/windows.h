// Cuts a recording into windows of time. Each is played on its own, with the tasks that waited at its start. Pure.
//
// Only tasks that arrive within a window count for it. Its play begins some time earlier, so that the queue has learnt
// its limits and the tasks that waited under another policy are gone. It ends some time later, so that the outcome of
// the last tasks is known.
#pragma once

#include <vector>

#include "app/lab/trace.h"
#include "base/random.h"

namespace freshet::lab {

// Times of the recording. begins <= from < to <= ends.
struct Window {
  nanoseconds begins{0};
  nanoseconds from{0};
  nanoseconds to{0};
  nanoseconds ends{0};
};

// The time that tasks have until their deadline: the 99th percentile.
nanoseconds patience_of(const Recording& recording);

// Returns windows of `length` within the last `last` of the recording, by time and without gaps; the last window is as
// late as possible. A recording that is shorter than `length` is one window; one of no duration has none. `last` may be
// longer than the recording.
std::vector<Window> windows_of(const Recording& recording, nanoseconds length, nanoseconds last);

// The load of the play of one window. Times count from the beginning of the play.
struct WindowLoad {
  Recording load;      // Its trace, its policy and changes of that. `real` is that of the whole recording, except for
                       // most_in_work.
  size_t waiting = 0;  // The number of tasks that wait at its beginning: the first ones.
  nanoseconds from{0};
  nanoseconds to{0};
  // The tasks that count, and those of them that were done in time and before the end of the play.
  uint64_t tasks = 0;
  uint64_t in_time = 0;

  bool counts(nanoseconds arrival) const { return arrival >= from && arrival < to; }
};

// All windows of a recording, which must outlive it. Its memory depends on the number of tasks and not of windows:
// cut() finds the tasks that waited at the beginning of a window.
class WindowCutter {
 public:
  WindowCutter(const Recording& recording, std::vector<Window> windows);
  const std::vector<Window>& windows() const { return windows_; }
  // These three need no cut: the number of tasks in the play of that window, the number of those that count, and
  // whether a call that was not refused began in it.
  size_t size_of(size_t index) const;
  size_t counted(size_t index) const;
  bool has_calls(size_t index) const;
  WindowLoad cut(size_t index) const;

 private:
  struct Waiting {
    size_t task;
    nanoseconds due;
  };
  void count_waiting();
  std::vector<Waiting> waiting_at(nanoseconds begins) const;  // In the order of arrivals.
  void add_arrivals(WindowLoad& out, const Window& window) const;
  void add_calls(WindowLoad& out, const Window& window) const;
  void add_policy(WindowLoad& out, const Window& window) const;

  const Recording& recording_;
  const std::vector<Window> windows_;
  std::vector<size_t> waiting_;  // By window: the number of tasks that wait at the beginning of its play.
};

// Resamples the load: each second of arrivals is replaced by one of the seconds around it, and each ten calls by ten of
// those around them. So trends, bursts and slow phases stay where they were.
WindowLoad resampled(const WindowLoad& window, Random& random);

}  // namespace freshet::lab
