// POST /queues/NAME/whatif: compares what other settings would have made of the last minutes (docs/task-api.md, "What
// if"). The daemon pipes the flight recording to `freshet whatif`, a process of its own with low priority that it ends
// after some time. One runs at a time: further requests are refused with 429.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "functions/queue/flight_recorder.h"
#include "runtime/ports.h"
#include "tables/value/json_reader.h"

namespace freshet {

struct WhatIfRequest {
  milliseconds last{600'000};
  milliseconds budget{10'000};
  std::optional<milliseconds> window;
  uint64_t seed = 1;
  std::vector<std::string> tries;  // "NAME=VALUE NAME=VALUE": an alternative each.
};

// kValidation, naming the member.
Result<WhatIfRequest> read_whatif(const JsonView& body);

// `recording` answers GET /queues/NAME/recording?from=-MS in pieces; a saved recording answers with all of it.
std::unique_ptr<Route> make_whatif_route(std::unique_ptr<Route> recording, Scheduler& scheduler, Spawner& spawner);
// `recorder` may be null: it is off. All parts outlive the route. It comes before the route of the task API.
std::unique_ptr<Route> make_whatif_route(TaskQueues& queues, const FlightRecorder* recorder, Scheduler& scheduler,
                                         Spawner& spawner);

}  // namespace freshet
