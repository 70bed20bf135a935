// Keeps the changes of a queue's policy in a fleet, so that they go with the queue from daemon to daemon. They end with
// a deployment to the daemon that serves the queue, and are left out by a daemon whose template has other settings than
// the one under which they were made. Without a fleet, changes end with the daemon, and this does nothing. Loop thread.
#pragma once

#include "functions/queue/shell/part.h"

namespace freshet {

class KeptPolicy : QueuePart {
 public:
  using QueuePart::QueuePart;

  // When the queue opens: applies what was kept.
  Async<Result<void>> load();
  // Once answered, the next daemon has these settings. kUnavailable: another daemon has kept others meanwhile, or
  // serves the queue now.
  Async<Result<void>> keep(QueuePolicy policy);
  // The template was deployed: it holds again.
  void forget();

 private:
  Async<Result<int64_t>> revision();
  Async<Result<void>> write(int64_t seen, QueuePolicy changes);

  QueuePolicy of_template_;
};

}  // namespace freshet
