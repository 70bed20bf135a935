// Parses a person's description of the limiter behind a queue: `freshet simulate --downstream`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/lab/limited.h"
#include "base/result.h"

namespace freshet::lab {

enum class LimitedBy { kAll, kGroup, kKey };

struct DownstreamSpec {
  std::optional<LimiterSpec> limiter;  // Empty: there is no limiter.
  LimitedBy each = LimitedBy::kAll;    // Tells if all calls share one limiter, or each group or key has its own.
  LimitedDownstream::Hints hints = {};
};

// Accepts "none", or a limiter with its limit:
//   token-bucket 20/s [burst 5]     a burst of a second's worth if none is given
//   window 600/60s                  so many in each window of a fixed grid
//   sliding 100/10s                 so many in any span of that length
//   concurrency 8                   so many at once
// " each group" or " each key" may follow, if each of them has a limit of its own; then " retry-after" or " ratelimit",
// if the limiter answers with those headers. Limits are a number from 1 to a million over a duration of 10 ms to a day.
// kValidation names what would be right.
Result<DownstreamSpec> parse_downstream(std::string_view text);

}  // namespace freshet::lab
