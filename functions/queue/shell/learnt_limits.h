// Keeps what RATE_LIMIT=adaptive and KEY_RATE_LIMIT=adaptive have learnt across restarts, in two slots of the system
// table. core/limits.h says when and what. docs/policies.md, "The limit, learnt". Loop thread.
#pragma once

#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class LearntLimits : QueuePart {
 public:
  using QueuePart::QueuePart;

  // At the start.
  Async<Result<void>> load_learnt();
  Async<void> keep_learnt_at_stop();
  Async<void> write_learnt(LearntLimit limit);
  Async<void> write_learnt_keys(std::vector<LearntKey> keys);

 private:
  void remember(const Item& item);
  void remember_keys(const Item& item);
  Async<bool> write_slot(Item item);  // Returns false if the write failed.
};

}  // namespace freshet
