#include "runtime/trace/xray_segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/invoke/trace.h"
#include "tables/value/json_reader.h"

namespace freshet {

namespace {

constexpr size_t kMostSpans = 500;  // The most spans of a datagram.

// Seconds with a fraction, as nanoseconds.
std::optional<int64_t> time_of(const JsonView& segment, std::string_view name) {
  const auto value = segment.find(name);
  if (!value || !value->is(JsonKind::kNumber)) return std::nullopt;
  double at = 0;
  const std::string_view text = value->text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), at);
  constexpr double kLatest = 9'000'000'000;  // The year 2255: as nanoseconds they fit into 64 bits.
  if (error != std::errc() || !(at >= 0 && at < kLatest)) return std::nullopt;
  return std::llround(at * 1e6) * 1000;
}

std::string text_of(const JsonView& object, std::string_view name) {
  const auto value = object.find(name);
  return value && value->is(JsonKind::kString) ? std::string(value->text()) : std::string();
}

bool flag_of(const JsonView& object, std::string_view name) {
  const auto value = object.find(name);
  return value && value->is(JsonKind::kBool) && value->boolean();
}

std::string error_of(const JsonView& segment) {
  if (const auto cause = segment.find("cause"); cause && cause->is(JsonKind::kObject)) {
    if (const auto exceptions = cause->find("exceptions"); exceptions && exceptions->is(JsonKind::kArray)) {
      for (const JsonView exception : *exceptions) {
        const std::string message = text_of(exception, "message");
        if (!message.empty()) return message;
      }
    }
  }
  for (const char* what : {"fault", "error", "throttle"}) {
    if (flag_of(segment, what)) return what;
  }
  return {};
}

void add_attributes(Span& span, const JsonView& segment) {
  const auto add = [&](std::string_view part, std::string_view field, const char* name) {
    const auto object = segment.find(part);
    if (!object || !object->is(JsonKind::kObject)) return;
    std::string text = text_of(*object, field);
    if (!text.empty()) span.attributes.emplace_back(name, std::move(text));
  };
  if (std::string space = text_of(segment, "namespace"); !space.empty()) {
    span.attributes.emplace_back("aws.xray.namespace", std::move(space));
  }
  add("aws", "operation", "rpc.method");
  add("aws", "table_name", "aws.dynamodb.table_names");
  add("aws", "request_id", "aws.request_id");
}

bool add_spans(std::vector<Span>& out, const JsonView& segment, std::string_view trace, std::string_view parent) {
  if (out.size() >= kMostSpans || !segment.is(JsonKind::kObject)) return false;
  Span span;
  span.trace_id = trace;
  span.span_id = text_of(segment, "id");
  span.parent_id = parent;
  span.name = text_of(segment, "name");
  span.kind = parent.empty() ? "segment" : "subsegment";
  const auto start = time_of(segment, "start_time");
  const auto end = time_of(segment, "end_time");
  if (!is_span_id(span.span_id) || span.name.empty() || !start) return false;
  span.start_ns = *start;
  span.end_ns = std::max(*start, end.value_or(*start));  // The program's clock may have been set in between.
  span.error = error_of(segment);
  add_attributes(span, segment);
  const std::string id = span.span_id;
  if (end) out.push_back(std::move(span));  // A segment that is still running arrives again when it has ended.
  if (const auto below = segment.find("subsegments"); below && below->is(JsonKind::kArray)) {
    for (const JsonView child : *below) add_spans(out, child, trace, id);
  }
  return true;
}

}  // namespace

Result<std::vector<Span>> spans_of_datagram(std::string_view datagram) {
  const size_t line = datagram.find('\n');
  if (line == datagram.npos) return invalid("a datagram needs a header line and a segment");
  JsonDocument document;
  const auto header = document.parse(datagram.substr(0, line));
  if (!header || text_of(*header, "format") != "json") return invalid("the header line needs \"format\":\"json\"");
  const auto segment = document.parse(datagram.substr(line + 1));
  if (!segment) return fail(segment.error());
  const std::string trace = trace_id_of_root(text_of(*segment, "trace_id"));
  const std::string parent = text_of(*segment, "parent_id");
  if (trace.empty()) return invalid("the segment has no trace_id like 1-5759e988-bd862e3fe1be46a994272793");
  if (!parent.empty() && !is_span_id(parent)) return invalid("the segment's parent_id is not 16 hex digits");
  std::vector<Span> spans;
  if (!add_spans(spans, *segment, trace, parent)) {
    return invalid("the segment needs an id of 16 hex digits, a name and a start_time");
  }
  return spans;
}

}  // namespace freshet
