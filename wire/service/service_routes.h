// Health, readiness, metrics and the description of the API: GET /, /healthz, /readyz, /metrics, /openapi.json.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/async.h"
#include "runtime/ports.h"

namespace freshet {

struct ServiceView {
  std::function<bool()> ready;                  // After recovery, and until draining begins.
  std::function<Async<std::string>()> metrics;  // Prometheus text.
  // Reasons, one per line, why it is not ready although ready() returns true; empty if there is none. May be null.
  std::function<std::string()> broken = nullptr;
};

// Objects that the view's functions capture outlive the routes. The functions run on the loop.
std::vector<std::unique_ptr<Route>> make_service_routes(ServiceView view);

}  // namespace freshet
