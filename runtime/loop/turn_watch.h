// Reports what runs when a turn of the loop takes too long. It reports while the turn runs, so also if it never ends. A
// separate thread checks the loop now and then; a loop with short turns does not notice it.
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
  milliseconds taken{0};  // The time so far: the turn goes on.
  std::string part;       // "mailbox", "due work", "timers", "work", "commit".
  bool computes = false;  // If false, the loop waits, mostly for the disk.
  std::string functions;  // The running ones, the innermost first, separated by " < "; empty if it waits.
};

// What stands for the name of a function in a program that has been stripped: "freshet+0x1f2a10", its place in the
// file, which addr2line turns into a name. Empty for an address outside the program.
std::string place_in_program(void* address);

class TurnWatch {
 public:
  // The loop's thread creates and destroys it; one at a time in a process. `loop` outlives it. Calls `tell` on the
  // watch's thread when a turn has taken `longest`, and again each time that it has taken ten times as long.
  TurnWatch(const Loop& loop, milliseconds longest, std::function<void(const SlowTurn&)> tell);
  TurnWatch(const TurnWatch&) = delete;
  TurnWatch& operator=(const TurnWatch&) = delete;
  ~TurnWatch();

 private:
  void run();
  void look();
  bool computes();
  std::string ask();
  bool rest(milliseconds time);  // False when the thread must end.

  const Loop& loop_;
  const milliseconds longest_;
  const std::function<void(const SlowTurn&)> tell_;
  const pthread_t loop_thread_;

  // For the watch's thread.
  std::optional<BootTime> known_;  // When the last reported turn began,
  nanoseconds next_{0};            // and how long it must take until the next report.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;  // Guarded by it.
  std::thread thread_;   // Last, because it uses the others.
};

}  // namespace freshet
