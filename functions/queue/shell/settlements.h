// Settles claims: done, failed, given back, extended. docs/lifecycle.md, "Leases". Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Settlements : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<std::vector<Result<ItemRef>>> settle(std::vector<Settlement> settlements);
  // Settles in the background. If the store stops before that is done, the settlements are lost.
  void settle_later(std::vector<Settlement> settlements);
  // At the very end, when nobody can settle any more: gives back all tasks that are still held, and their attempts.
  Async<void> release_held();
  // A task left its holder and may be taken again, now or later.
  void moved(const ItemRef& task);
  // Ends a task whose item has no room for a transition. Otherwise one that cannot be claimed would stay at the head
  // for ever, and one whose claim cannot end would stay TAKEN.
  Async<void> set_aside(ItemRef task, std::string why);

 private:
  Async<Result<ItemRef>> settle_replaced(Settlement settlement, Outcome outcome, ItemRef task);
  Async<Result<WriteOutput>> end_cancelled(Settlement settlement, ItemRef task);
  Result<ItemRef> settled(const Settlement& settlement, Result<WriteOutput>& answer);
  Async<void> give_back_held();
  Async<void> settle_quietly(std::vector<Settlement> settlements);
};

}  // namespace freshet
