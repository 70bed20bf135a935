// Starts the daemon's HTTP server according to its options: who may send requests, and how.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/daemon/module.h"
#include "app/daemon/plan.h"
#include "wire/http/server.h"
#include "wire/service/service_routes.h"

namespace freshet {

// Serves the routes from the loop's next turn on. The parts outlive the server.
Result<std::unique_ptr<HttpServer>> start_serving(DaemonParts& parts, HttpListener listener, Routes routes);

// Its base URL, and the one for programs on this machine, which cannot call an address that stands for all addresses.
std::string server_url(const DaemonPlan& plan, uint16_t port);
std::string local_server_url(const DaemonPlan& plan, uint16_t port);

}  // namespace freshet
