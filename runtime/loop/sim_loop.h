// The real loop on a SimClock: for tests, replay and the overload lab. It is also the loop's Scheduler, for code that
// needs only that. One thread; time moves only inside these calls, from one deadline to the next.
#pragma once

#include <utility>

#include "runtime/loop/loop.h"

namespace freshet {

class SimLoop final : public Scheduler {
 public:
  // Nobody else should advance the clock (steps of the wall clock are fine). It must outlive this.
  explicit SimLoop(SimClock& clock, LoopOptions options = {})
      : clock_(clock), waiter_(clock), loop_(clock, waiter_, options) {}
  SimLoop(const SimLoop&) = delete;
  SimLoop& operator=(const SimLoop&) = delete;

  Loop& loop() { return loop_; }
  void post(Work work) override { loop_.post(std::move(work)); }
  TimerId call_at(BootTime when, Work work) override { return loop_.call_at(when, std::move(work)); }
  void cancel(TimerId id) override { loop_.cancel(id); }
  const Clock& clock() const override { return clock_; }
  void add(TurnParticipant& participant) { loop_.add(participant); }
  void remove(TurnParticipant& participant) { loop_.remove(participant); }
  size_t timers() const { return loop_.timers(); }

  // For untrusted work: the calls below stop after `turns` turns at one moment, and do nothing from then on.
  // is_restless() is then true.
  void give_up_after(int turns) { most_turns_ = turns; }
  bool is_restless() const { return restless_; }

  // Runs turns (at least one) until nothing is ready at this moment. Aborts if that never ends, unless give_up_after()
  // was called.
  void run_ready();
  // Runs everything that becomes due within the next `d`, each at its time; then the clock is `d` later.
  void run_for(nanoseconds d);
  // Goes from deadline to deadline until there is none, or the next one is beyond `limit`; the clock stays at the last
  // one reached. Returns true if nothing is left to wait for.
  bool run_until_idle(nanoseconds limit);
  // The same, until done() returns true between turns. Returns false if that did not happen within `limit`.
  template <class Done>
  bool run_until(Done done, nanoseconds limit) {
    const BootTime end = clock_.boot() + limit;
    while (!done()) {
      if (!loop_.ready() && !jump(end)) return false;
      loop_.turn();
    }
    return true;
  }

 private:
  // Moves time to the next deadline; false if there is none up to `end`.
  bool jump(BootTime end);

  SimClock& clock_;
  SimWaiter waiter_;
  Loop loop_;
  int most_turns_ = 0;  // 0: never stops early.
  bool restless_ = false;
};

}  // namespace freshet
