// The caller of Invoke describes itself in X-Amz-Client-Context, the Base64 of a JSON object. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet::lambda {

// The object as JSON that fits into a header: ASCII, on one line. "" for "". kValidation if it is too long (3,583
// bytes, encoded) or not a JSON object in Base64.
Result<std::string> client_context(std::string_view encoded);

}  // namespace freshet::lambda
