// The one timer of a queue: what it does by itself, at the times that core/agenda.h says. docs/lifecycle.md,
// "Wake-ups". Loop thread.
#pragma once

#include <optional>
#include <vector>

#include "functions/queue/shell/part.h"
#include "functions/signal.h"

namespace freshet {

class QueueTimer : QueuePart {
 public:
  using QueuePart::QueuePart;

  // Call it once, at readiness: ends the leases of dead incarnations and starts the timer.
  void begin();
  // Stops the timer for good.
  void end();
  // Starts a tick soon, in a turn of its own. It does what is due.
  void request_tick();
  // Sets the timer to what is due next.
  void arm();
  // Something is due at `when`: the timer must not sleep longer.
  void hurry(BootTime when);
  // Work became eligible without an event that would start a processor.
  void start_soon(nanoseconds delay);

  // Between the two calls, a processor takes whatever comes: no `Start` is needed.
  void processor_began() { core_.agenda.processor_began(); }
  void processor_ended();
  // From now on takes are refused, waiting ones too, and no `Start` is published. Settling goes on.
  void drain();
  // As drain(), and ends the queue's own work where it waits, except the work in QueueBase::lasting. Writes the last
  // lines of the shed log and the learnt limits at once.
  void give_up();
  // Notifies `signal` of a drain, of new settings and of slots_freed(), until it is forgotten. The signal outlives that
  // time.
  void add_listener(Signal& signal) { listeners_.push_back(&signal); }
  void remove_listener(Signal& signal) { std::erase(listeners_, &signal); }
  void slots_freed();

 private:
  Async<void> begin_work();
  void notify_drain();
  Async<void> tick();
  Async<void> look_around();
  Async<void> look_for_waiting();
  void look_for_due();
  Async<Result<Page>> future_head();
  Async<void> publish_start();

  std::vector<Signal*> listeners_;
  bool tick_posted_ = false;
  BootTime due_looked_{};
  std::optional<BootTime> started_;  // When it last published `Start`.
  bool start_pending_ = false;       // No processor has ended since.
  TimerId timer_ = 0;
};

}  // namespace freshet
