// Outcomes made of what a function's own process or endpoint sent. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/invoke/function.h"

namespace freshet {

// A result as JSON: null if it is empty, a JSON string if it is not JSON.
std::string as_json(std::string body);

// The outcome of a function that reported its own failure. `body` is its error document, {"errorMessage": ...,
// "errorType": ..., "stackTrace": [...]}, handed on as it is; one that is no such document becomes the message.
// `type` is used when the document has none.
InvokeOutcome reported_failure(std::string_view type, std::string body);

}  // namespace freshet
