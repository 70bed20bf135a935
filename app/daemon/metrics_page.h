// What GET /metrics shows: the registry's own metrics, and those read from queues, loop and store at each request.
#pragma once

#include <string>

#include "base/async.h"
#include "base/metrics.h"
#include "functions/queue/queues.h"
#include "runtime/loop/loop.h"
#include "runtime/runtime.h"
#include "tables/engine/embedded.h"

namespace freshet {

struct MetricsSources {
  Metrics& metrics;
  Queues& queues;
  const Loop& loop;
  const EmbeddedTables& store;
  Runtime& runtime;
};

// Loop thread; the sources outlive it.
Async<std::string> metrics_page(MetricsSources sources);

}  // namespace freshet
