// Keeps the changes of a queue's policy in a fleet, so that they go with the queue from daemon to daemon. A deployment
// to the daemon that serves the queue ends them. So does a daemon whose template has other settings than the template
// under which they were made. Without a fleet, changes end with the daemon, and nothing is stored. Loop thread.
#pragma once

#include "functions/queue/named_turns.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class KeptPolicy : QueuePart {
 public:
  KeptPolicy(QueueBase& base, QueueParts& parts) : QueuePart(base, parts), turns_(base.services.scheduler) {}

  // When the queue opens: applies what is stored.
  Async<Result<void>> load();
  // Stores the policy with these changes, and then changes it. Returns the new policy. After an error nothing is
  // changed here. kValidation; kUnavailable if another daemon serves the queue now, or has stored another policy
  // meanwhile; kUnknownOutcome if the store does not say whether it has the change: the next daemon may have it.
  Async<Result<QueuePolicy>> change(QueuePolicy changes);
  // Stores the policy as it is, unless a guard may still revert it.
  Async<Result<void>> keep();
  // The template was deployed: from now on its settings hold.
  void deployed();
  // A change under a guard stays: from now on it is one for all.
  void guard_ended();

 private:
  Async<Result<int64_t>> read(QueuePolicy* changes, QueuePolicy* of_template);
  Async<Result<void>> store(QueuePolicy changes);
  Async<Result<void>> store_policy(QueuePolicy policy);
  Async<void> keep_at_last();

  NamedTurns turns_;  // One writer at a time.
  QueuePolicy of_template_;
  // That of the stored item, as this daemon has last read or written it; 0: there is none. A daemon that served the
  // queue before can store nothing, because each opening makes the revision rise.
  int64_t revision_ = 0;
};

}  // namespace freshet
