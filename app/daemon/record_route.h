// GET /record?table=T[&from=PLACE|latest][&waitMs=N]: the lines of a fixture, piece by piece, for `freshet record`. The
// header X-Freshet-Next of an answer is the `from` of the next request; its form is opaque. While a request comes at
// least once a minute, the store keeps both images of every change of that table.
#pragma once

#include <memory>

#include "runtime/api/task_queue.h"
#include "runtime/ports.h"
#include "streams/arn.h"
#include "tables/engine/embedded.h"

namespace freshet {

// The recording of a queue's table begins with the queue's policy, and contains each change of the policy. A recording
// from `latest` on contains neither. All parts outlive the route.
std::unique_ptr<Route> make_record_route(EmbeddedTables& store, TaskQueues& queues, Scheduler& scheduler,
                                         Account account);

}  // namespace freshet
