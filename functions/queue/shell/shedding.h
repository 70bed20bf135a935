// Sheds waiting tasks that have become hopeless, without waiting for a take to find them. core/shedder.h decides when,
// and which. docs/policies.md, "Shedding". Loop thread.
#pragma once

#include <vector>

#include "functions/queue/shed_log.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class Shedding : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<void> shed_hopeless();
  // Sheds those of the tasks that still wait although their ttl has passed, and removes them from `tasks`. For a store
  // that does not do so itself. True if it shed any.
  Async<bool> shed_expired(std::vector<ItemRef>& tasks);
  // A task became PENDING with that deadline.
  void due_by(int64_t deadline_ms);

 private:
  struct ShedStep : Shedder::Step {
    std::vector<ShedLine> lines;  // A line for each task that was shed.
  };

  std::vector<ItemRef> take_expired(std::vector<ItemRef>& tasks) const;
  void set_aside_if_full(const ItemRef& task, const Error& error);
  Async<bool> shed_page(ShedStep& step);
  Async<void> shed_alike(ShedStep& step, Shedder::Alike alike);
  Async<Result<Page>> most_urgent(Item start, WallTime late_by);
};

}  // namespace freshet
