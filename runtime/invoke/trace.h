// X-Ray trace headers: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1". Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace freshet {

// The header for an invocation: it continues the caller's trace, with the caller's segment as its parent, or starts a
// new one at `now` if `caller` names none. Sampled unless the caller says otherwise.
std::string trace_of(std::string_view caller, WallTime now, Random& random);

// The members of a header; those that are missing, or not of the form above, are empty.
struct TraceHeader {
  std::string root;
  std::string parent;
};
TraceHeader parse_trace(std::string_view header);
// "1-5759e988-bd862e3fe1be46a994272793" as 32 hex digits; empty for anything else.
std::string trace_id_of_root(std::string_view root);
// The header reduced to root, parent (if it has one) and the sampling decision: other members may be of any length.
// Empty if it has no root.
std::string plain_trace(std::string_view header);
bool is_sampled(std::string_view header);  // True unless it says no.
bool is_span_id(std::string_view text);    // 16 hex digits.

}  // namespace freshet
