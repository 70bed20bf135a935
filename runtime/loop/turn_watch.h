// Names what runs when a turn of the loop takes too long, while it does: also when it never ends. A thread of its own
// looks at the loop now and then; a loop whose turns are short notices nothing of it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/loop/loop.h"

namespace freshet {

struct SlowTurn {
  milliseconds taken{0};  // Until now: it goes on.
  std::string part;       // "mailbox", "due work", "timers", "work", "commit".
  bool computes = false;  // Else the loop waits: for the disk, mostly.
  std::string functions;  // Those that run, the innermost first, with " < " between; empty where it waits.
};

class TurnWatch {
 public:
  // On the loop's thread, which also destroys it; one at a time in a process. `loop` outlives it. `tell` is called on
  // the watch's thread when a turn has taken `longest`, and again each time that it has taken ten times as long.
  TurnWatch(const Loop& loop, milliseconds longest, std::function<void(const SlowTurn&)> tell);
  TurnWatch(const TurnWatch&) = delete;
  TurnWatch& operator=(const TurnWatch&) = delete;
  ~TurnWatch();

 private:
  void run();
  void look();
  bool computes();
  std::string ask();
  bool rest(milliseconds time);  // False when it is to end.

  const Loop& loop_;
  const milliseconds longest_;
  const std::function<void(const SlowTurn&)> tell_;
  const pthread_t loop_thread_;

  // The watch's thread.
  std::optional<BootTime> known_;  // When the turn began that was told last,
  nanoseconds next_{0};            // and how long it has to take until it is told again.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;  // Guarded by it.
  std::thread thread_;   // Last: it uses the others.
};

}  // namespace freshet
