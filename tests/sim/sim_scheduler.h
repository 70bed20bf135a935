// The loop in simulation, for unit tests: one thread, a SimClock, the same order of a turn as the real loop (run_due of
// all participants, due timers, posted work, commit of all). Time moves only inside run_until_idle() and advance(),
// from one deadline to the next.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "base/scheduler.h"

namespace freshet {

class SimScheduler final : public Scheduler {
 public:
  // The clock must outlive the scheduler; nobody else should advance it (steps of the wall clock are fine).
  explicit SimScheduler(SimClock& clock) : clock_(clock) {}
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;

  void post(Work work) override;
  TimerId call_at(BootTime when, Work work) override;
  void cancel(TimerId id) override;
  const Clock& clock() const override { return clock_; }

  // Takes part in every turn from now on. Must outlive the scheduler's last turn, or be removed.
  void add(TurnParticipant& participant) { participants_.push_back(&participant); }
  void remove(TurnParticipant& participant);

  // Turns (at least one) until nothing is posted and nothing is due now. Aborts if that never ends.
  void run_ready();
  // Lets time jump from deadline to deadline until no timer and no participant waits for anything, or until `limit` has
  // passed. True if idle.
  bool run_until_idle(nanoseconds limit);
  // Runs everything that becomes due within the next `d`, each at its time; then the clock stands `d` later.
  void advance(nanoseconds d);

  size_t timers() const { return timers_.size(); }  // Still to come.

 private:
  void turn();
  bool ready() const;
  BootTime next_deadline() const;  // BootTime::max() for never.

  SimClock& clock_;
  std::vector<TurnParticipant*> participants_;
  std::deque<Work> posted_;
  std::map<std::pair<BootTime, TimerId>, Work> timers_;
  std::map<TimerId, BootTime> deadlines_;  // Of the timers, to find them by id.
  TimerId last_timer_ = 0;
};

}  // namespace freshet
