// The counts of a queue: how tasks ended, which attempts were of use, how long tasks waited for their start. Loop
// thread.
#pragma once

#include <optional>
#include <string>

#include "base/metrics.h"
#include "functions/queue/punctuality.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class TaskCounts : QueuePart {
 public:
  using QueuePart::QueuePart;

  Punctuality& punctuality() { return punctuality_; }
  const Punctuality& punctuality() const { return punctuality_; }
  // From now on `histogram` gets the seconds that each task waited for its first start, since its creation or the end
  // of its delay. It outlives this.
  void measure_pickup(Histogram& histogram) { pickup_ = &histogram; }
  Histogram* pickup() const { return pickup_; }

  // The work on a task begins. `waiting_since` is what the take returned.
  void started(std::optional<WallTime> waiting_since);
  // The work on the task is over. Sheds are counted where they are logged.
  void count_end(const ItemRef& task);
  // A task that had ended was put back to be tried again.
  void redriven(const ItemRef& before, const ItemRef& now);
  // An attempt was settled whose lease is still in the book. `task`: as stored afterwards. `since`: when the claim was
  // made, if this queue made it.
  void count_attempt(const Settlement& settlement, const ItemRef& task, std::optional<BootTime> since);
  // The task is no longer held under that lease, and this queue did not end the lease. `task`: the task now; null if it
  // does not exist.
  void taken_away(const std::string& id, const std::string& token, const ItemRef& task);

 private:
  Punctuality punctuality_;
  const WallTime counts_since_ = wall();  // `punctuality_` has no ends from before that.
  Histogram* pickup_ = nullptr;
};

}  // namespace freshet
