// A route whose requests may come with a trace (X-Amzn-Trace-Id, or W3C's traceparent): what they cause goes on with
// it.
#pragma once

#include <memory>

#include "base/trace_links.h"
#include "runtime/ports.h"

namespace freshet {

// The links outlive it.
std::unique_ptr<Route> make_traced_route(std::unique_ptr<Route> inner, TraceLinks& links);

// The X-Amzn-Trace-Id that such a request has, or that says the same as its traceparent; empty without one.
std::string trace_header_of(const HttpRequest& request);

}  // namespace freshet
