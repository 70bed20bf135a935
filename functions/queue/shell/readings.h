// The views of a queue for people who watch it: statistics, readings for its history, the shares of groups, the holders
// of tasks. Loop thread.
#pragma once

#include <string>

#include "functions/queue/shell/part.h"

namespace freshet {

class Readings : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<Result<QueueStats>> stats();
  Async<Result<QueueReading>> reading();
  Async<Result<QueueShares>> shares(SharesInput input);
  QueueHolders holders(uint32_t limit);

 private:
  std::string state_now();
};

}  // namespace freshet
