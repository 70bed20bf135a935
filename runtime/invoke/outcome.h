// Outcomes made of what a function's own process or endpoint sent. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/invoke/function.h"

namespace freshet {

// A result as JSON: null if it is empty, a JSON string if it is not JSON.
std::string as_json(std::string body);

// Whether the type of an error, as a runtime or an endpoint names it in a header, is "Handled".
bool says_handled(std::string_view type);
// "Handled" or "Unhandled", as callers are told.
std::string_view kind_of(const FunctionError& error);

// The outcome of a function that reported its own failure. `body` is its error document, {"errorMessage": ...,
// "errorType": ..., "stackTrace": [...]}, handed on as it is; one that is no such document becomes the message.
// `type` is used when the document has none.
InvokeOutcome reported_failure(std::string_view type, std::string body);

}  // namespace freshet
