// reach() finds out if an engine is there at all. Calls of the store are repeated for far longer, as one may fail
// although the engine is there. Loop thread. The client must outlive the Async.
#pragma once

#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "runtime/ports.h"

namespace freshet::remote {

// Asks all endpoints (http[s]://HOST[:PORT]) at once. Success if one answers anything within two seconds, or breaks
// off: a proxy may know only signed requests. Otherwise kUnavailable, with the reason of each endpoint.
Async<Result<void>> reach(HttpClient& http, Scheduler& scheduler, std::vector<std::string> endpoints);

}  // namespace freshet::remote
