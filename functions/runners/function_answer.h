// Interprets a function's result, however it was invoked. Pure.
#pragma once

#include <string>
#include <string_view>

#include "functions/runners/runner.h"

namespace freshet {

// The text of a function's error document for people: "errorType: errorMessage", or one of the two. Any other text is
// returned unchanged. At most 1 KiB; see clean_text().
std::string error_text(std::string_view document);

// Interprets a result: kept_result(), or a release if it is {"retryAfterMs": N} with or without "reason". N is a number
// of milliseconds from 0 to 366 days; anything else is a failure that says so.
RunResult answer_of(std::string_view payload);

}  // namespace freshet
