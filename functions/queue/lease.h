// A lease: the time for which a worker holds a task. A value.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "tables/value/item_ref.h"

namespace freshet {

class RatedCall;
struct KeyCall;

struct Lease {
  std::string token;  // As stored; empty for a task that was taken without one.
  int64_t beat = 0;
  milliseconds duration{0};
  bool mine = false;  // Claimed by this Queue object.
  ItemRef task;       // As last seen.
  // The charge to the limits of its key or group; null: none that this daemon knows of.
  std::shared_ptr<KeyCall> key_call{};
  // Set for claims of pull workers in a queue with RATE_LIMIT: the limit learns how the call ends.
  std::shared_ptr<RatedCall> call{};
  bool pulled = false;  // A pull worker holds the task, and may settle it through any daemon that serves the queue.
};

}  // namespace freshet
