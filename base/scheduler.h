// Schedules work on the one loop. runtime/loop implements it; the simulation runs the same loop on a SimClock.
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>

#include "base/clock.h"

namespace freshet {

using Work = absl::AnyInvocable<void()>;
using TimerId = uint64_t;  // 0 is never a valid id.

// Loop thread only. Work runs later in this or the next turn, never inside the call, in the order it was posted.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void post(Work work) = 0;
  // Runs `work` at the first turn at or after `when`. Timers due in one turn run in order of (when, TimerId).
  virtual TimerId call_at(BootTime when, Work work) = 0;
  // Has no effect if the timer has run or was cancelled.
  virtual void cancel(TimerId id) = 0;
  virtual const Clock& clock() const = 0;

  TimerId call_after(nanoseconds delay, Work work) { return call_at(clock().boot() + delay, std::move(work)); }
};

// Takes part in every turn of the loop: first run_due() of all, then posted work, then commit() of all.
class TurnParticipant {
 public:
  virtual ~TurnParticipant() = default;
  // Does what is due now, in a bounded step (TTL sweep, compaction). Loop thread.
  virtual void run_due() = 0;
  // Makes this turn's changes durable, or begins to, and releases everything that waited for earlier ones. Loop thread.
  virtual void commit() = 0;
  // The next time at which run_due() has work, if nothing else happens; BootTime::max() for never.
  virtual BootTime next_due() const = 0;
};

// Lets other threads hand work to the loop. Any thread.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  // The work runs on the loop in a coming turn, in order per sender. False when the mailbox is full or the loop has
  // ended: the work was not taken, and the sender answers "try again".
  [[nodiscard]] virtual bool deliver(Work work) = 0;
};

}  // namespace freshet
