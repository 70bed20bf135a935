// X-Ray trace headers: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1". Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace freshet {

// What an invocation is told: it goes on with the caller's trace, with the caller's segment as its parent, or begins
// one at `now` if `caller` names none. A caller that does not say is sampled.
std::string trace_of(std::string_view caller, WallTime now, Random& random);

// What a header says; members that it has not, or not in the form above, are empty.
struct TraceHeader {
  std::string root;
  std::string parent;
};
TraceHeader parse_trace(std::string_view header);
// "1-5759e988-bd862e3fe1be46a994272793" as 32 hex digits; empty for anything else.
std::string trace_id_of_root(std::string_view root);
// The same header with nothing but root, parent (if it has one) and whether it is sampled: what callers add beside them
// is of any length. Empty for one without a root.
std::string plain_trace(std::string_view header);
bool is_sampled(std::string_view header);  // It does not say no.
bool is_span_id(std::string_view text);    // 16 hex digits.

}  // namespace freshet
