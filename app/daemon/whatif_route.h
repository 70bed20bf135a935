// POST /queues/NAME/whatif: simulates the last minutes of the queue with other settings, and compares the results
// (docs/task-api.md, "What if"). The daemon pipes the flight recording to `freshet whatif`, a process of its own with
// low priority that it ends after some time. One runs at a time: further requests are refused with 429.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  std::string downstream;          // The limiter behind the queue, as for --downstream. Empty: not given.
  std::vector<std::string> tries;  // "NAME=VALUE NAME=VALUE": an alternative each.
};

// kValidation, naming the member.
Result<WhatIfRequest> read_whatif(const JsonView& body);

// The comparisons of a server. At most one runs at a time, and none starts after end(). Loop thread.
class Comparisons {
 public:
  // Ends the process of the running comparison. That one and all later ones are answered with 503.
  void end() {
    ended_ = true;
    if (end_running_) end_running_();
  }
  bool ended() const { return ended_; }
  bool runs() const { return end_running_ != nullptr; }
  // `end_running` is called by end() until stopped() has been called.
  void started(std::function<void()> end_running) { end_running_ = std::move(end_running); }
  void stopped() { end_running_ = nullptr; }

 private:
  bool ended_ = false;
  std::function<void()> end_running_;
};

// `recording` answers GET /queues/NAME/recording?from=-MS in pieces; a saved recording answers with all of it.
// All parts outlive the route.
std::unique_ptr<Route> make_whatif_route(std::unique_ptr<Route> recording, Comparisons& comparisons,
                                         Scheduler& scheduler, Spawner& spawner);
// `recorder` may be null: it is off. It comes before the route of the task API.
std::unique_ptr<Route> make_whatif_route(TaskQueues& queues, const FlightRecorder* recorder, Comparisons& comparisons,
                                         Scheduler& scheduler, Spawner& spawner);

}  // namespace freshet
