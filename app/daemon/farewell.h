// The sentence that a daemon prints when it stops: what it has done and what remains.
#pragma once

#include <cstdint>
#include <string>

#include "app/daemon/options.h"
#include "base/async.h"
#include "base/log.h"
#include "runtime/api/task_queue.h"

namespace freshet {

struct Farewell {
  enum class Counted { kTasks, kNoQueue, kStartCutShort, kNoAnswer, kHandedOver };
  Counted counted = Counted::kTasks;  // If not kTasks, the numbers that follow are unknown.
  uint64_t done = 0;                  // Tasks that succeeded since the start, in all queues.
  uint64_t failed = 0;                // FAILURE or DEAD since the start, and not redriven since.
  uint64_t shed = 0;                  // Since the start, and not redriven since.
  uint64_t waiting = 0;               // PENDING or DELAYED.
  uint64_t held = 0;                  // TAKEN: workers hold them under a lease, or their end could not be written.
  std::string data;                   // The folder of the store; empty: nothing is stored.
  std::string engine{};               // The endpoint of the engine that has the tables; empty: `data` has them.
  bool durable = true;                // True if all writes are on disk.
};

// "5 tasks were done, 1 failed, 3 wait. All is kept in DATA: a start with this folder goes on with what is left".
std::string farewell_text(const Farewell& farewell);

// The counts of all queues, kNoQueue if there is none. A queue that no longer answers counts nothing. The queues
// outlive it. Loop thread.
Async<Farewell> farewell_of(TaskQueues& queues);

// Says it in the log, and to options.on_stopped. `drained`: all work ended in time. `durable`: all writes are on disk.
void say_farewell(Farewell farewell, const DaemonOptions& options, const EventLog& log, bool drained, bool durable);

}  // namespace freshet
