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
  // Settles without anybody waiting for it; a store that is not there any more forgets it.
  void settle_later(std::vector<Settlement> settlements);
  // At the very end, when nobody can settle any more: what is still held goes back, with its attempt.
  Async<void> release_held();
  // A task left its holder: it may be work again, now or later.
  void moved(const ItemRef& task);
  // A task that cannot be claimed (it leaves no room for a lease) would stand at the head for ever, and one whose claim
  // cannot end would stay TAKEN.
  Async<void> set_aside(ItemRef task, std::string why);

 private:
  Async<Result<ItemRef>> settle_replaced(Settlement settlement, Outcome outcome, ItemRef task);
  Async<Result<WriteOutput>> end_cancelled(Settlement settlement, ItemRef task);
  Result<ItemRef> settled(const Settlement& settlement, Result<WriteOutput>& answer);
  Async<void> settle_quietly(std::vector<Settlement> settlements);
};

}  // namespace freshet
