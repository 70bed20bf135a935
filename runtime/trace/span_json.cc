#include "runtime/trace/span_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tables/value/json.h"

namespace freshet {

namespace {

// Chrome's unit: microseconds, with three digits behind the point.
std::string in_us(int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

void member(std::string& out, std::string_view name, std::string_view text) {
  if (out.back() != '{' && out.back() != '[') out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, text);
}

void attribute(std::string& out, std::string_view name, std::string_view text) {
  if (out.back() != '[') out += ',';
  out += '{';
  member(out, "key", name);
  out += R"(,"value":{)";
  member(out, "stringValue", text);
  out += "}}";
}

void append_otlp(std::string& out, const Span& span) {
  if (out.back() != '[') out += ',';
  out += '{';
  member(out, "traceId", span.trace_id);
  member(out, "spanId", span.span_id);
  if (!span.parent_id.empty()) member(out, "parentSpanId", span.parent_id);
  member(out, "name", span.name);
  // 1: internal, 5: consumer.
  fmt::format_to(std::back_inserter(out),
                 R"(,"kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":[)",
                 span.kind == "invocation" ? 5 : 1, span.start_ns, span.end_ns);
  for (const auto& [name, text] : span.attributes) attribute(out, name, text);
  out += R"(],"status":{)";
  if (!span.error.empty()) {
    out += R"("code":2)";
    member(out, "message", span.error);
  }
  out += "}}";
}

}  // namespace

std::string otlp_json(std::span<const Span> spans) {
  std::string out = R"({"resourceSpans":[{"resource":{"attributes":[)";
  attribute(out, "service.name", "freshet");
  out += R"(]},"scopeSpans":[{"scope":{"name":"freshet"},"spans":[)";
  for (const Span& span : spans) append_otlp(out, span);
  out += "]}]}]}";
  return out;
}

std::string ChromeTrace::events(std::span<const Span> spans) {
  std::string out;
  for (const Span& span : spans) {
    const Slice place{track_of(span, out), span.start_ns, span.end_ns};
    out += '{';
    member(out, "name", span.name);
    member(out, "cat", span.kind);
    fmt::format_to(std::back_inserter(out), R"(,"ph":"X","pid":1,"tid":{},"ts":{},"dur":{},"args":{{)", place.track,
                   in_us(span.start_ns), in_us(span.end_ns - span.start_ns));
    member(out, "trace", span.trace_id);
    member(out, "span", span.span_id);
    if (!span.error.empty()) member(out, "error", span.error);
    for (const auto& [name, text] : span.attributes) member(out, name, text);
    out += "}},\n";
    if (const auto parent = known_.find(span.parent_id); parent != known_.end()) {
      arrow(out, span.span_id, parent->second, place);
    } else if (!span.parent_id.empty()) {
      remember_orphan(span, place);
    }
    const auto [first, last] = orphans_.equal_range(span.span_id);
    for (auto child = first; child != last; ++child) arrow(out, child->second.first, place, child->second.second);
    orphans_.erase(first, last);
    remember(span, place);
  }
  return out;
}

// Programs send names, too: names beyond the bound share tracks.
std::pair<const std::string, std::vector<ChromeTrace::Track>>& ChromeTrace::tracks_of(const std::string& name) {
  const auto found = tracks_.find(name);
  if (found != tracks_.end()) return *found;
  return *tracks_.try_emplace(tracks_.size() < kNames ? name : "(others)").first;
}

int ChromeTrace::track_of(const Span& span, std::string& out) {
  auto& [name, tracks] = tracks_of(span.name);
  auto free =
      std::find_if(tracks.begin(), tracks.end(), [&](const Track& track) { return track.free <= span.start_ns; });
  if (free == tracks.end() && tracks.size() >= kTracksOfName) free = tracks.begin();
  if (free == tracks.end()) {
    tracks.push_back({++last_track_, {}});
    free = std::prev(tracks.end());
    fmt::format_to(std::back_inserter(out), R"({{"name":"thread_name","ph":"M","pid":1,"tid":{},"args":{{)", free->id);
    member(out, "name", name);
    out += "}},\n";
  }
  free->free = std::max(free->free, span.end_ns);
  return free->id;
}

// Draws an arrow from within the cause to the beginning of the effect.
void ChromeTrace::arrow(std::string& out, const std::string& id, const Slice& from, const Slice& to) {
  const int64_t leaves = std::clamp(to.start, from.start, std::max(from.start, from.end));
  for (const bool end : {false, true}) {
    fmt::format_to(
        std::back_inserter(out), R"({{"name":"causes","cat":"causes","ph":"{}","id":"{}","pid":1,"tid":{},"ts":{}{}}})",
        end ? "f" : "s", id, end ? to.track : from.track, in_us(end ? to.start : leaves), end ? R"(,"bp":"e")" : "");
    out += ",\n";
  }
}

// Most parents come soon afterwards; a parent in another process's trace never does. So the oldest entries are dropped.
void ChromeTrace::remember_orphan(const Span& span, const Slice& place) {
  orphans_.emplace(span.parent_id, std::pair(span.span_id, place));
  orphans_order_.push_back(span.parent_id);
  if (orphans_order_.size() <= kKnown) return;
  const auto [first, last] = orphans_.equal_range(orphans_order_.front());
  if (first != last) orphans_.erase(first);
  orphans_order_.pop_front();
}

void ChromeTrace::remember(const Span& span, const Slice& place) {
  if (!known_.insert_or_assign(span.span_id, place).second) return;
  if (order_.size() < kKnown) {
    order_.push_back(span.span_id);
    return;
  }
  known_.erase(std::exchange(order_[oldest_], span.span_id));
  oldest_ = (oldest_ + 1) % kKnown;
}

}  // namespace freshet
