// Moves DELAYED tasks on when their delay is over. A delay keeps its length even if the wall clock is set
// (core/delays.h). docs/lifecycle.md, "Wake-ups". Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Promotion : QueuePart {
 public:
  using QueuePart::QueuePart;

  // At a look around: notes the delays that end soon, and follows steps of the wall clock.
  void follow_clock();
  // A task is delayed from now on. `written`: the wall clock when its `notBefore` was computed.
  void delayed(std::string_view id, WallTime written, int64_t not_before_ms);
  // True if there may be more.
  Async<bool> promote_due();
  // Moves DELAYED tasks to PENDING now, whatever their `notBefore` says, or to SHED if they are stale. Returns an
  // answer for each. `patience`: see SureWrites.
  Async<std::vector<Result<WriteOutput>>> make_due(std::vector<ItemRef> due,
                                                   milliseconds patience = SureWrites::kHurry);

 private:
  Async<Result<Page>> delayed_page(Item start, WallTime due_by);
  Async<void> note_delays(milliseconds ahead);
  Async<bool> promote_noted();
  Async<bool> promote_by_wall();
};

}  // namespace freshet
