// Segments as X-Ray's SDKs send them: a datagram of {"format":"json","version":1}, a line end, and a segment or
// subsegment document. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/trace/span.h"

namespace freshet {

// The spans of a datagram: those that have ended, with everything below them. kValidation for any other datagram.
Result<std::vector<Span>> spans_of_datagram(std::string_view datagram);

}  // namespace freshet
