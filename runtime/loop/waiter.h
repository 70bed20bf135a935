// How the loop sleeps between turns: on an eventfd in a daemon, by moving a SimClock in simulation.
#pragma once

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

class Waiter {
 public:
  virtual ~Waiter() = default;
  // Loop thread. Returns at `until` or earlier: after wake(), or without a reason. A wake() since the last call makes
  // it return at once.
  virtual void wait_until(BootTime until) = 0;
  // Any thread.
  virtual void wake() = 0;
  // Loop thread: the last turn is over.
  virtual void end() {}
};

// Sleeps on an eventfd. One write() wakes it, however many senders there are: the loop calls wake() only when it
// sleeps.
class EventWaiter final : public Waiter {
 public:
  explicit EventWaiter(const Clock& clock);  // Aborts if the system has no free descriptors.
  EventWaiter(const EventWaiter&) = delete;
  EventWaiter& operator=(const EventWaiter&) = delete;
  ~EventWaiter() override;

  void wait_until(BootTime until) override;
  void wake() override;

 private:
  const Clock& clock_;
  const int fd_;
};

// Makes time jump to the next deadline. Never sleeps; without a deadline it does nothing.
class SimWaiter final : public Waiter {
 public:
  explicit SimWaiter(SimClock& clock) : clock_(clock) {}
  void wait_until(BootTime until) override;
  void wake() override {}

 private:
  SimClock& clock_;
};

}  // namespace freshet
