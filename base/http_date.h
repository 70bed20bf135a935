// The date of an HTTP message: "Sat, 28 Nov 2026 08:00:00 GMT" (RFC 9110, 5.6.7; the two older forms are not read).
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"

namespace freshet {

// Empty if it is no such date. Any thread.
std::optional<WallTime> parse_http_date(const std::string& text);

}  // namespace freshet
