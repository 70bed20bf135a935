// What is known of whoever works on a queue's tasks: it outlives the processor's runs, as a downstream that has asked
// to be left alone does not care that a run has ended. Pure state.
#pragma once

#include "functions/queue/policy/breaker.h"
#include "functions/queue/policy/token_bucket.h"

namespace freshet {

struct Downstream {
  Breaker breaker;        // Opens when something is bounced.
  TokenBucket bucket{0};  // RATE_LIMIT, of all runs together.
};

}  // namespace freshet
