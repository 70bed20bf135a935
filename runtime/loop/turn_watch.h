// Reports what runs when a turn of the loop takes too long. It reports while the turn runs, so it also reports a turn
// that never ends. A separate thread checks the loop now and then; a loop with short turns does not notice it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/loop/loop.h"

namespace freshet {

struct SlowTurn {
  milliseconds taken{0};     // The time so far: the turn is still running.
  milliseconds computed{0};  // The processor's time that the loop's thread has used since the watch first saw the turn.
                             // It stands still while a debugger or SIGSTOP holds the process, the machine sleeps, or
                             // other programs have the processor.
  std::string part;          // "mailbox", "due work", "timers", "work", "commit".
  bool computes = false;     // If false, the loop waits, mostly for the disk.
  std::string functions;     // The running functions, the innermost first, separated by " < "; empty if it waits.
};

// Replaces the name of a function in a stripped program: "freshet+0x1f2a10", the position in the file, which addr2line
// turns into a name. Empty for an address outside the program.
std::string place_in_program(void* address);

// Prints the turn to standard error and aborts: it is over its budget. For debug builds and simulations, where a turn
// that does not end is a fault to find. Decide by the time that the turn has `computed`: any turn may have `taken` an
// hour on a machine that slept.
[[noreturn]] void abort_for(const SlowTurn& turn);

class TurnWatch {
 public:
  // The loop's thread creates and destroys it; one at a time in a process. `loop` outlives it. Calls `on_slow_turn` on
  // the watch's thread when a turn has taken `longest`, and again each time its duration has grown tenfold. `clock`
  // measures turns of a loop on simulated time, each from when the watch first sees it, and outlives the watch; null:
  // the loop's own clock does, from the turn's begin.
  TurnWatch(const Loop& loop, milliseconds longest, std::function<void(const SlowTurn&)> on_slow_turn,
            const Clock* clock = nullptr);
  TurnWatch(const TurnWatch&) = delete;
  TurnWatch& operator=(const TurnWatch&) = delete;
  ~TurnWatch();

 private:
  void run();
  void look();
  nanoseconds used() const;
  bool computes();
  std::string ask();
  bool rest(milliseconds time);  // Returns false when the thread must end.

  const Loop& loop_;
  const milliseconds longest_;
  const std::function<void(const SlowTurn&)> on_slow_turn_;
  const Clock* const clock_;
  const pthread_t loop_thread_;

  // Used by the watch's thread only.
  std::optional<BootTime> seen_;  // When the turn began that was seen last.
  BootTime since_{};              // The time from which that turn is measured.
  nanoseconds used_{0};           // The processor's time of the loop's thread at `since_`.
  nanoseconds next_{0};           // The duration at which the turn is reported next.

  Mutex mutex_;
  Condition changed_;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // The last member, because it uses the others.
};

}  // namespace freshet
