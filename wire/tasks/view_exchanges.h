// The calls of the task API for a queue's history, the groups or keys that share it, the holders of its tasks, and the
// trace of a task. See exchanges.h.
#pragma once

#include <memory>
#include <string>

#include "runtime/api/queue_series.h"
#include "wire/tasks/exchanges.h"

namespace freshet::tasks {

// `points`: the most points, the newest ones.
std::unique_ptr<Exchange> series(Desk& desk, std::string queue, SeriesStep step, uint32_t points);
std::unique_ptr<Exchange> shares(Desk& desk, std::string queue, SharesInput input);
std::unique_ptr<Exchange> holders(Desk& desk, std::string queue, uint32_t limit);
std::unique_ptr<Exchange> trace(Desk& desk, std::string queue, std::string task);

}  // namespace freshet::tasks
