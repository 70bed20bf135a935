// Reading what a function answered, however it was invoked. Pure.
#pragma once

#include <string>
#include <string_view>

#include "functions/runners/runner.h"

namespace freshet {

// The text for people of a function's error document: "errorType: errorMessage", or what there is of the two. Any other
// text is kept as it is. At most 1 KiB; see clean_text().
std::string error_text(std::string_view document);

// Interprets a result: kept_result(), or a release if it is {"retryAfterMs": N} with or without "reason". N is a number
// of milliseconds from 0 to 366 days; anything else is a failure that says so.
RunResult answer_of(std::string_view payload);

}  // namespace freshet
