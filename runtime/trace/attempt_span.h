// The span of one attempt on a task, and how to recognise it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/trace/span.h"
#include "runtime/trace/tracer.h"

namespace freshet {

// A span that begins now, below the span that the header names.
Span begin_attempt(Tracer& tracer, const std::string& header, const std::string& queue, std::string_view task,
                   int64_t attempt);

// True for the spans of attempts on that task.
bool is_attempt_on(const Span& span, std::string_view queue, std::string_view task);

}  // namespace freshet
