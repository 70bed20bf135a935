// The sentence that a daemon prints when it stops: what it did and what it leaves.
#pragma once

#include <cstdint>
#include <string>

#include "base/async.h"
#include "runtime/task_queue.h"

namespace freshet {

struct Farewell {
  enum class Counted { kTasks, kNoQueue, kStartCutShort };
  Counted counted = Counted::kTasks;  // Otherwise nobody knows the numbers that follow.
  uint64_t done = 0;                  // Tasks that succeeded since the start, over all queues.
  uint64_t failed = 0;                // FAILURE or DEAD since the start.
  uint64_t shed = 0;                  // Since the start.
  uint64_t waiting = 0;               // PENDING or DELAYED.
  uint64_t held = 0;                  // TAKEN: workers have them under a lease, or their end could not be written.
  std::string data;                   // The folder of the store; empty: nothing is kept.
  bool durable = true;                // The disk has all writes.
};

// "5 tasks were done, 1 failed, 3 wait. All is kept in DATA: a start with this folder goes on with what is left".
std::string farewell_text(const Farewell& farewell);

// The counts of all queues, kNoQueue if there is none. Queues that cannot be asked any more count nothing. The queues
// outlive it. Loop thread.
Async<Farewell> farewell_of(TaskQueues& queues);

}  // namespace freshet
