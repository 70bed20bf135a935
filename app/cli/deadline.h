// --deadline: the time until which a task is worth starting, as people write it.
#pragma once

#include <cstdint>
#include <string_view>

#include "app/cli/options.h"
#include "base/result.h"

namespace freshet::cli {

// One of the two, as the members of a task in the task API.
struct Deadline {
  int64_t at_ms = 0;  // `deadline`: epoch milliseconds.
  int64_t in_ms = 0;  // `deadlineMs`: counted from the creation.
};

// A duration with its unit (base/duration_text.h) up to 366 days; a time with its zone, as 2026-12-01T10:00Z; or epoch
// milliseconds. kValidation quotes the text and says what would be right.
Result<Deadline> parse_deadline(std::string_view text);
Check deadline();

}  // namespace freshet::cli
