// The task runner of a simulation: an HTTP server to which the daemon posts tasks. It is slow, broken, overloaded or
// silent now and then.
#pragma once

#include <memory>

#include "base/random.h"
#include "base/scheduler.h"
#include "tests/sim/machine/clients.h"
#include "wire/http/server.h"

namespace freshet::sim {

constexpr uint16_t kHandlerPort = 9000;

// All outlive it. Loop thread of the clients.
Result<std::unique_ptr<HttpServer>> serve_handlers(Stage& stage, Random& random, Network& network, IoThread& io,
                                                   Scheduler& scheduler, Mailbox& mailbox);

}  // namespace freshet::sim
