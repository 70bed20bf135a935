// Requests of clients for single tasks: reads, lists, cancels and redrives. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Administration : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<Result<ItemRef>> get(std::string id);
  Async<Result<TaskPage>> list(ListInput input);
  Async<std::vector<Result<ItemRef>>> cancel(std::vector<std::string> ids);
  Async<Result<uint64_t>> redrive(RedriveInput input);

 private:
  Async<Result<ItemRef>> cancel_one(std::string id);
  Async<Result<void>> redrive_tasks(std::vector<ItemRef> tasks, uint64_t& done);
};

}  // namespace freshet
