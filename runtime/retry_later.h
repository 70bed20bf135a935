// Detail of a refusal that will pass: when to try again.
#pragma once

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

struct RetryLater final : ErrorDetail {
  explicit RetryLater(milliseconds wait) : after(wait) {}
  const milliseconds after;
};

}  // namespace freshet
