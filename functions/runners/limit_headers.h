// Reads the headers by which a response describes its sender's limit: Retry-After (RFC 9110, 10.2.3), RateLimit and
// RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers, from version 8 on and version 7), RateLimit-Limit, -Remaining
// and -Reset (its earlier versions), and X-RateLimit-* or X-Rate-Limit-*, as many services send them: with the reset in
// seconds from now, in epoch seconds or in epoch milliseconds.
#pragma once

#include <optional>
#include <string_view>

#include "functions/queue/policy/limit_hints.h"
#include "runtime/ports.h"

namespace freshet {

// Ignores unknown headers. If there are several limits, returns the one with the least left.
LimitHints limit_hints(const HttpHeaders& headers, WallTime now);

// Reads a Retry-After header: seconds, or an HTTP date. Empty if it is neither.
std::optional<milliseconds> retry_after(std::string_view text, WallTime now);

}  // namespace freshet
