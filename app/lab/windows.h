// A recording, cut into windows of time that are played by themselves, each with what waited at its start. Pure.
//
// Only tasks that come within a window count for it. Its play begins some time before, so that the queue has learnt and
// what waited under another policy has gone, and ends some time after it, so that it is known what became of the last
// ones.
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

// The time that tasks are given until their deadline, except for the most patient hundredth.
nanoseconds patience_of(const Recording& recording);

// Windows of `length`, the last of them as late as possible, within the last `last` of the recording: by time, without
// gaps. A recording that is shorter is one window; one in which no time passes has none. `last` may be longer than the
// recording.
std::vector<Window> windows_of(const Recording& recording, nanoseconds length, nanoseconds last);

// The load that the play of a window has. Times are since its beginning.
struct WindowLoad {
  Recording load;      // Its trace, its policy and changes of that; `real` is that of the whole recording, except:
                       // most_in_work.
  size_t waiting = 0;  // The number of tasks that wait at its beginning: the first ones.
  nanoseconds from{0};
  nanoseconds to{0};
  // The tasks that count, and the share of them that was done in time and before the end of the window's play.
  uint64_t tasks = 0;
  uint64_t in_time = 0;

  bool counts(nanoseconds arrival) const { return arrival >= from && arrival < to; }
};

// All windows of a recording, which must outlive it. Its memory is bounded by the number of tasks, however many windows
// there are: what waited at the beginning of one is found when that is cut.
class WindowCutter {
 public:
  WindowCutter(const Recording& recording, std::vector<Window> windows);
  const std::vector<Window>& windows() const { return windows_; }
  // These three need no cut. The tasks that the play of that window has; those that count; whether a call began in it
  // that was not refused.
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
  std::vector<size_t> waiting_;  // How many wait at the beginning of each.
};

// The same load as chance might have had it: each second of arrivals is one of the seconds around it, and each ten
// calls are ten of those around them. So trends, bursts and slow phases stay where they were.
WindowLoad resampled(const WindowLoad& window, Random& random);

}  // namespace freshet::lab
