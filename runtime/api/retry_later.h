// Detail of a temporary refusal: the time after which to try again.
#pragma once

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

struct RetryLater final : ErrorDetail {
  explicit RetryLater(milliseconds wait) : after(wait) {}
  const milliseconds after;
};

}  // namespace freshet
