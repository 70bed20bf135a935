// The rare branches of the product that a run can make common (base/points.h). Each is right at any time.
#include "tests/sim/machine/points.h"

namespace freshet::sim {

const std::vector<RareBranch>& rare_branches() {
  static const std::vector<RareBranch> all = {
      {"a batch of the log is closed early", "a turn writes several batches, with one sync"},
      {"a page of a stream ends early", "a read of a stream is full after any record"},
      {"a page of items ends early", "a query or a scan is full after any item"},
      {"a turn of the loop is used up", "the rest of the work has the next turn"},
      {"the slice of requests is used up", "the rest of the requests has the next turn"},
      {"a new task waits before it replaces others", "a daemon may die between the two writes"},
  };
  return all;
}

}  // namespace freshet::sim
