// Makes outcomes from the output of a function's own process or endpoint. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/invoke/function.h"

namespace freshet {

// A result as JSON: null if it is empty, a JSON string if it is not JSON.
std::string as_json(std::string body);

// True if the type of an error, as a runtime or an endpoint names it in a header, is "Handled".
bool says_handled(std::string_view type);
// "Handled" or "Unhandled", as callers see it.
std::string_view kind_of(const FunctionError& error);

// The outcome of a function that reported its own failure. `body` is its error document, {"errorMessage": ...,
// "errorType": ..., "stackTrace": [...]}, passed on unchanged; any other body becomes the message. `type` is used if
// the document has none.
InvokeOutcome reported_failure(std::string_view type, std::string body);

}  // namespace freshet
