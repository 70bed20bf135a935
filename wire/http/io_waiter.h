// Puts a daemon's loop to sleep. The thread model for sockets, in three sentences:
//
//   1. Every socket belongs to an I/O thread, and only whoever runs that thread's turns touches it.
//   2. A single I/O thread without TLS lends its turns to the loop, which runs them between its own, so that a client
//      that calls alone costs no switch of threads; several I/O threads, and those with TLS, always run their own.
//   3. The loop gives the turns back while several clients wait for its syncs or something large is to be read or
//      written, and takes them again after a row of short turns (DriverRule).
//
// bench/RESULTS.md, "Who runs the sockets", has the measurements behind this.
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/scheduler.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/waiter.h"
#include "wire/http/io_thread.h"

namespace freshet {

// Decides if the loop reads the sockets itself, by the lengths of its last turns.
class DriverRule {
 public:
  // The longest short turn. During a longer one, clients that arrived had to wait. Most syncs take longer.
  static constexpr nanoseconds kShort = std::chrono::microseconds(100);

  bool loop_drives() const { return loop_drives_; }
  void count_short() { count(-1); }
  // `for_many`: the turn was for more than one client, or others had come when it was over. While the I/O thread
  // drives, one such turn outweighs all turns for one client, which are always some.
  void count_long(bool for_many) { count(!for_many ? -kLong : loop_drives_ ? kLong : kMost); }
  // The next request or response takes long to read or to write.
  void found_heavy() { count(kMost); }

 private:
  // A long turn is worth several short ones: the changes that it made durable are answered in a short one.
  static constexpr int kLong = 8;
  static constexpr int kMost = 32 * kLong;

  void count(int change);

  bool loop_drives_ = true;
  int waited_ = 0;  // From 0 to kMost; reaching either bound changes the driver.
};

// Loop thread, except wake().
class IoWaiter final : public Waiter, public TurnParticipant {
 public:
  explicit IoWaiter(const Clock& clock);
  // Makes it a participant of the loop: after every other, so that their commits are part of the turn that it sees.
  // Before the loop runs. The I/O thread must outlive the loop's last turn. Without it the I/O threads run themselves.
  void attach(IoThread& io, Loop& loop);

  void wait_until(BootTime until) override;
  void wake() override;
  void end() override;  // From here on the I/O thread runs its own turns.

  void run_due() override;
  void commit() override;
  BootTime next_due() const override { return BootTime::max(); }

 private:
  void wait_driving(BootTime until);
  // Gives the turns back if the rule says so, or if heavy work is next. A loop that always finds ready work never
  // sleeps, so it asks in each of its turns.
  bool gave_back();
  // Runs a turn of the sockets without waiting. Returns true if one was ready.
  bool look();
  void count_long(bool for_many);

  const Clock& clock_;
  EventWaiter plain_;
  IoThread* io_ = nullptr;
  DriverRule rule_;
  bool looked_ = true;  // True if it has looked since the last turn.
  // Set while the loop drives. A look at the sockets consumes the I/O thread's wake-up, which alone could therefore be
  // lost.
  std::atomic<bool> woken_{false};
  bool undecided_ = false;  // The last turn was long and for one client; it is not known yet if others came.
  BootTime began_{};
  uint64_t ready_before_ = 0;  // The count of ready sockets when the last turn was over.
  uint64_t ready_then_ = 0;    // The count when this turn began.
};

}  // namespace freshet
