#include "runtime/trace/attempt_span.h"

#include <algorithm>

namespace freshet {
namespace {

constexpr std::string_view kKind = "attempt";
constexpr std::string_view kQueue = "freshet.queue";
constexpr std::string_view kTask = "freshet.task_id";
constexpr std::string_view kAttempt = "freshet.attempt";

bool has(const Span& span, std::string_view name, std::string_view value) {
  return std::any_of(span.attributes.begin(), span.attributes.end(),
                     [&](const auto& one) { return one.first == name && one.second == value; });
}

}  // namespace

Span begin_attempt(Tracer& tracer, const std::string& header, const std::string& queue, std::string_view task,
                   int64_t attempt) {
  Span span = tracer.begin(queue + " attempt", header);
  span.kind = kKind;
  span.attributes = {{std::string(kQueue), queue},
                     {std::string(kTask), std::string(task)},
                     {std::string(kAttempt), std::to_string(attempt)}};
  return span;
}

// Long ids are cut in a span.
bool is_attempt_on(const Span& span, std::string_view queue, std::string_view task) {
  return span.kind == kKind && has(span, kTask, Tracer::kept_of(task)) && has(span, kQueue, queue);
}

}  // namespace freshet
