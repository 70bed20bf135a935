// The page of GET /metrics: the registry's own metrics, and those read from queues, loop and store at each request.
#pragma once

#include <string>

#include "app/daemon/deployer.h"
#include "base/async.h"
#include "base/metrics.h"
#include "functions/queue/queues.h"
#include "runtime/loop/loop.h"
#include "runtime/runtime.h"
#include "runtime/trace/tracer.h"
#include "tables/engine/embedded.h"
#include "wire/xray/segment_receiver.h"

namespace freshet {

struct MetricsSources {
  Metrics& metrics;
  Queues& queues;
  const Loop& loop;
  const EmbeddedTables& store;
  Runtime& runtime;
  const Deployer& deployer;
  const Tracer* tracer = nullptr;             // Null: nothing is traced.
  const SegmentReceiver* segments = nullptr;  // Null: none are taken.
  uint64_t memory_limit = 0;                  // --max-memory-bytes, or what is used in its place.
};

// Loop thread; the sources outlive it.
Async<std::string> metrics_page(MetricsSources sources);

}  // namespace freshet
