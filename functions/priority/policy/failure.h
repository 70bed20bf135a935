// Decides where a record goes that was peeked and not completed. Pure.
//
// These are not the rules of a task (functions/queue/policy/outcome.h). A record counts its failures, and a task its
// claims. A record whose timeout has passed can be peeked at once, and a task whose lease has ended waits as after a
// failure. A task always has a last attempt; a record need not have one. Only the backoff is the same, and both use
// functions/queue/policy/backoff.h.
#pragma once

#include <optional>

#include "functions/priority/settings.h"
#include "runtime/api/priority_queue.h"

namespace freshet::priority {

struct Return {
  RecordPlace to = RecordPlace::kReady;  // kReady, kDelayed or kDead.
  milliseconds delay{0};                 // Set with kDelayed.
  int64_t failures = 0;                  // The number of failures afterwards.
};

// The consumer gave the record back. `failed`: this counts as a failure. A `delay` overrides the backoff; `unit` is
// uniform in [0, 1).
Return after_restore(const Settings& settings, int64_t failures, bool failed, std::optional<milliseconds> delay,
                     double unit);
// The record's visibility timeout has passed. This counts as a failure, and the record can be peeked at once.
Return after_timeout(const Settings& settings, int64_t failures);

}  // namespace freshet::priority
