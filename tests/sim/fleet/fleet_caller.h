// How clients speak to the members of a fleet: over HTTP, with the product's own client, in simulated time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/async.h"
#include "runtime/ports.h"
#include "tests/sim/machine/trace.h"

namespace freshet::fleet_sim {

struct Reply {
  int status = 0;  // 0: no answer.
  bool never_sent = false;
  nlohmann::json body;
  std::string text;  // The body as it came.
  BootTime sent{};
  BootTime answered{};
  bool ok() const { return status >= 200 && status < 300; }
  // Nothing was done, as the answer says: no 5xx, which may hide an outcome.
  bool refused() const { return never_sent || (status >= 400 && status < 500); }
};

// The text of a member; empty if there is none.
std::string text_in(const nlohmann::json& from, const char* name);

// Loop thread of the clients. What it refers to outlives it.
class FleetCaller {
 public:
  FleetCaller(HttpClient& http, Scheduler& scheduler, sim::Trace& trace)
      : http_(http), scheduler_(scheduler), trace_(trace) {}

  Async<Reply> post(uint16_t port, std::string path, nlohmann::json body, milliseconds patience);
  Async<Reply> get(uint16_t port, std::string path, milliseconds patience);
  // Invokes a function asynchronously.
  Async<Reply> invoke(uint16_t port, std::string function, nlohmann::json event, milliseconds patience);
  // Publishes to a FIFO topic.
  Async<Reply> publish(uint16_t port, std::string topic, std::string id, std::string group, milliseconds patience);
  // An operation of the item store at the engine.
  Async<Reply> store(uint16_t port, std::string operation, nlohmann::json input, milliseconds patience);

  Scheduler& scheduler() { return scheduler_; }
  sim::Trace& trace() { return trace_; }
  BootTime now() const { return scheduler_.clock().boot(); }

 private:
  Async<Reply> call(uint16_t port, HttpRequest request, std::string what, milliseconds patience);

  HttpClient& http_;
  Scheduler& scheduler_;
  sim::Trace& trace_;
  uint64_t calls_ = 0;
};

}  // namespace freshet::fleet_sim
