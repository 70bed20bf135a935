// The real loop on a SimClock: for tests, replay and the overload lab. It is the loop's Scheduler, too, for all who
// need no more of it. One thread; time moves only inside these calls, from one deadline to the next.
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

  // For work from outside: the calls below then give up after that many turns at one moment and do nothing more from
  // then on; is_restless() tells you so.
  void give_up_after(int turns) { most_turns_ = turns; }
  bool is_restless() const { return restless_; }

  // Runs turns (at least one) until nothing is ready at this moment. Aborts if that never ends, unless it may give up.
  void run_ready();
  // Runs everything that becomes due within the next `d`, each at its time; then the clock stands `d` later.
  void run_for(nanoseconds d);
  // Goes from deadline to deadline until nothing waits for anything, or the next deadline is beyond `limit`; the clock
  // stands at the last one reached. True if idle.
  bool run_until_idle(nanoseconds limit);
  // The same, until done() says true between turns. False if that did not happen within `limit`.
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
  int most_turns_ = 0;  // 0: it does not give up.
  bool restless_ = false;
};

}  // namespace freshet
