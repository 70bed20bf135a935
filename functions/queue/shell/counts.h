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
  // How long tasks waited for their first start, in seconds: from when they were created, or their delay was over.
  void measure_pickup(Histogram& histogram) { pickup_ = &histogram; }
  Histogram* pickup() const { return pickup_; }

  // The work on a task begins; `waiting_since` as the take gave it.
  void started(std::optional<WallTime> waiting_since);
  // The work on the task is over. Sheds are counted where they are logged.
  void count_end(const ItemRef& task);
  // A task that had ended was put back to be tried again.
  void redriven(const ItemRef& before, const ItemRef& now);
  // The attempt of a lease that the book still has was settled; `task`: as stored afterwards. `since`: when its claim
  // was made, if this queue made it.
  void count_attempt(const Settlement& settlement, const ItemRef& task, std::optional<BootTime> since);
  // The task is not held under that lease any more, and this queue did not end it. `task`: as it is now; null if it is
  // not there.
  void taken_away(const std::string& id, const std::string& token, const ItemRef& task);

 private:
  Punctuality punctuality_;
  const WallTime counts_since_ = wall();  // Ends before that are not in `punctuality_`.
  Histogram* pickup_ = nullptr;
};

}  // namespace freshet
