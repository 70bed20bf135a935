// A route whose requests may have a trace (X-Amzn-Trace-Id, or W3C's traceparent): their effects continue that
// trace.
#pragma once

#include <memory>

#include "base/trace_links.h"
#include "runtime/ports.h"

namespace freshet {

// The links outlive it.
std::unique_ptr<Route> make_traced_route(std::unique_ptr<Route> inner, TraceLinks& links);

// The request's X-Amzn-Trace-Id, or its traceparent in that form; empty without either.
std::string trace_header_of(const HttpRequest& request);

}  // namespace freshet
