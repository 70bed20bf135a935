// Ends leases: those that ran out, and at startup those of earlier incarnations of this node. Loop thread.
#pragma once

#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class LeaseEnds : QueuePart {
 public:
  static constexpr uint32_t kMovedAtOnce = 256;  // The number of tasks that are moved before other work gets its turn.

  using QueuePart::QueuePart;

  // Ends leases that have run out. True if there may be more.
  Async<bool> end_leases();
  // Begins to time every held task that is not timed yet. `starting`: also ends claims of earlier incarnations.
  Async<void> watch_taken(bool starting);
  // True once a lease: time to look for held tasks that this daemon does not know of. A claim may be made long after
  // its caller got no answer.
  bool may_watch() const { return !sure_.is_immediate() && boot() - watched_ >= settings_.lease; }
  // The same for held tasks that are in no index: searches the whole table.
  Async<void> watch_unindexed();
  // After the queue was given up: forgets what has run out, and what pull workers hold, as they settle it through the
  // daemon that serves the queue. That daemon ends leases in the store, too.
  void forget_others();

 private:
  // True if the books have more held tasks than this daemon times, and none of them is being written.
  Async<bool> lacks_some();
  BootTime watched_{};  // When watch_taken() began last.

  Async<void> end_replaced_lease(Lapse lapse);
  void lease_ended(const Lapse& lapse, Result<WriteOutput>& answer);
  Async<void> end_dead(std::vector<ItemRef> tasks);
  Async<void> end_replaced_dead(ItemRef task, Outcome outcome);
  void dead_ended(const ItemRef& task, Result<WriteOutput>& answer);
};

}  // namespace freshet
