// For `freshet explain`: reads the task, its lines in the shed log and what comes before it. core/explainer.h gives the
// reasons. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class Explanations : QueuePart {
 public:
  using QueuePart::QueuePart;

  Async<Result<Explanation>> explain(std::string id);

 private:
  std::vector<QueryInput> before_it(const ItemRef& task);
  Async<Result<void>> count_ahead(Explanation& out);
};

}  // namespace freshet
