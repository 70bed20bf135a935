// What is known of whoever works on a queue's tasks: it outlives the processor's runs, as a downstream that has asked
// to be left alone does not care that a run has ended. Pure state.
#pragma once

#include <optional>

#include "functions/queue/policy/adaptive_concurrency.h"
#include "functions/queue/policy/breaker.h"
#include "functions/queue/policy/token_bucket.h"
#include "functions/settings.h"

namespace freshet {

struct Downstream {
  Breaker breaker;                                 // Opens when something is bounced.
  TokenBucket bucket{0};                           // RATE_LIMIT, of all runs together.
  std::optional<AdaptiveConcurrency> concurrency;  // With CONCURRENCY=adaptive; of all runs together.
  uint64_t concurrency_number = 0;                 // Which one it is: it may be switched off and on.
  size_t busy = 0;                                 // Tasks of all runs that are claimed and not done.
  size_t left = 0;                                 // Slots in use by runs that are over.

  // The settings are these now.
  void follow(const WorkSettings& work) {
    bucket.set(work.rate_limit, work.rate_burst);
    const auto least = static_cast<size_t>(work.least);
    const auto most = static_cast<size_t>(work.most);
    if (!work.adaptive) return concurrency.reset();
    if (concurrency) return concurrency->set_bounds(least, most);
    concurrency.emplace(least, most);
    ++concurrency_number;
  }
};

}  // namespace freshet
