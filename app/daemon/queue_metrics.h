// The metrics of queues in GET /metrics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "functions/queue/queue.h"

namespace freshet {

// `stats` is null if they are not available. Loop thread.
void set_queue(Metrics& metrics, Queue& queue, const QueueStats* stats, const Clock& clock);
// The histograms that queues keep themselves.
void append_queue_histograms(std::string& page, const std::vector<std::shared_ptr<Queue>>& queues);

}  // namespace freshet
