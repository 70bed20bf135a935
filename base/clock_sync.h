// Tells if a time service keeps the wall clock right. Injected beside the clock (base/clock.h).
#pragma once

namespace freshet {

class ClockSync {
 public:
  virtual ~ClockSync() = default;
  // True if the wall clock follows a source of time, such as an NTP server. Any thread.
  virtual bool synchronised() const = 0;
};

// Asks the kernel: adjtimex() without STA_UNSYNC. After a boot, and after somebody set the clock, the kernel says no
// until the time service reports otherwise. Also false where the system call is not allowed.
class KernelClockSync final : public ClockSync {
 public:
  bool synchronised() const override;
};

// Returns the value that it was set to. For tests.
class SimClockSync final : public ClockSync {
 public:
  bool synchronised() const override { return synchronised_; }
  void set(bool synchronised) { synchronised_ = synchronised; }

 private:
  bool synchronised_ = false;
};

}  // namespace freshet
