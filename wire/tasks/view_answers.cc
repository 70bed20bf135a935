#include "wire/tasks/view_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/api/cancel_mark.h"
#include "tables/value/json.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet::tasks {

namespace {

// At least a digit, at most three behind the point; no exponent.
std::string short_number(double value) {
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  std::string out = fmt::format("{:.3f}", value);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
  return out;
}

template <class Write>
void append_column(JsonObject& json, std::string_view name, const SeriesSlice& slice, Write write) {
  std::string& out = json.raw(name) += '[';
  for (const SeriesPoint& point : slice.points) {
    if (&point != slice.points.data()) out += ',';
    const std::string value = point.known ? write(point) : std::string();
    out += value.empty() ? "null" : value;
  }
  out += ']';
}

void append_flow(JsonObject& json, std::string_view name, const SeriesSlice& slice, size_t flow) {
  append_column(json, name, slice, [flow](const SeriesPoint& point) { return std::to_string(point.flows[flow]); });
}

// Those whose name is "KIND.REST", as an object.
void append_kind(JsonObject& json, std::string_view kind, const SeriesSlice& slice) {
  JsonObject all(json.raw(kind));
  for (size_t i = 0; i < kQueueFlows; ++i) {
    const std::string_view name = kQueueFlowNames[i];
    const size_t dot = name.find('.');
    if (dot != std::string_view::npos && name.substr(0, dot) == kind) append_flow(all, name.substr(dot + 1), slice, i);
  }
}

void append_levels(JsonObject& json, const SeriesSlice& slice) {
  const auto whole = [&](std::string_view name, auto member) {
    append_column(json, name, slice, [member](const SeriesPoint& point) { return std::to_string(point.*member); });
  };
  // No value where it is 0: there is no task, or no limit.
  const auto some = [&](std::string_view name, auto member) {
    append_column(json, name, slice, [member](const SeriesPoint& point) {
      const auto value = point.*member;
      return value > 0 ? short_number(static_cast<double>(value)) : std::string();
    });
  };
  whole("pending", &SeriesPoint::pending);
  whole("delayed", &SeriesPoint::delayed);
  whole("inWork", &SeriesPoint::in_work);
  append_column(json, "newestAgeMs", slice, [](const SeriesPoint& point) {
    return point.pending > 0 ? short_number(point.newest_age_ms) : std::string();
  });
  append_column(json, "oldestAgeMs", slice, [](const SeriesPoint& point) {
    return point.pending > 0 ? short_number(point.oldest_age_ms) : std::string();
  });
  append_column(json, "ageAtStartMs", slice, [](const SeriesPoint& point) {
    return point.pickups > 0 ? short_number(std::round(1000.0 * point.pickup_seconds / point.pickups)) : std::string();
  });
  some("rateLimit", &SeriesPoint::rate_limit);
  some("concurrency", &SeriesPoint::concurrency);
}

// Milliseconds with the microseconds behind the point.
std::string in_ms(int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1'000'000, ns / 1'000 % 1'000);
}

}  // namespace

std::string series_json(const SeriesSlice& slice, WallTime begins) {
  std::string out;
  {
    JsonObject json(out);
    json.number("stepMs", length_of(slice.step).count());
    json.number("first", slice.first);
    json.number("begins", epoch_ms(begins));
    json.number("points", slice.points.size());
    for (size_t i = 0; i < kQueueFlows; ++i) {
      if (kQueueFlowNames[i].find('.') == std::string_view::npos) append_flow(json, kQueueFlowNames[i], slice, i);
    }
    append_kind(json, "shed", slice);
    append_kind(json, "refused", slice);
    append_levels(json, slice);
  }
  return out;
}

std::string shares_json(const QueueShares& shares, bool by_key) {
  std::string out;
  {
    JsonObject json(out);
    json.text("by", by_key ? "key" : "group");
    std::string& all = json.raw("groups") += '[';
    for (const QueueShare& share : shares.shares) {
      if (&share != shares.shares.data()) all += ',';
      JsonObject one(all);
      one.text("name", share.name);
      one.number("inWork", share.in_work);
      if (share.waiting) one.number("waiting", *share.waiting);
      if (share.waiting_at_least) one.flag("waitingAtLeast", true);
      if (share.paused) one.flag("paused", true);
      if (share.at_limit) one.flag("atLimit", true);
      if (share.per_second > 0) one.raw("perSecond") += short_number(share.per_second);
      if (share.free_in.count() > 0) one.number("startsInMs", share.free_in.count());
    }
    all += ']';
    json.flag("more", shares.more);
  }
  return out;
}

std::string holders_json(const QueueHolders& holders) {
  std::string out;
  {
    JsonObject json(out);
    json.number("inWork", holders.in_work);
    std::string& all = json.raw("holders") += '[';
    for (const TaskHolder& holder : holders.holders) {
      if (&holder != holders.holders.data()) all += ',';
      JsonObject one(all);
      one.text("name", holder.name);
      one.number("tasks", holder.tasks);
      one.number("longestMs", holder.longest.count());
    }
    all += ']';
    std::string& tasks = json.raw("tasks") += '[';
    for (const HeldTask& held : holders.tasks) {
      if (&held != holders.tasks.data()) tasks += ',';
      JsonObject one(tasks);
      one.text("taskId", held.id);
      one.text("holder", held.holder);
      one.number("heldMs", held.held.count());
      one.number("leaseLeftMs", held.lease_left.count());
      if (!held.task) continue;
      for (const char* name : {"attempt", "group", "key"}) {
        if (const auto value = held.task.find(name)) append_plain_json(one.raw(name), value->decode());
      }
      if (is_cancel_requested(held.task)) one.raw("cancelRequested") += "true";
    }
    tasks += ']';
  }
  return out;
}

std::string trace_json(const RecentSpans::OfTask& trace, bool traced) {
  std::string out;
  {
    JsonObject json(out);
    json.flag("traced", traced);
    std::string& all = json.raw("spans") += '[';
    for (const Span& span : trace.spans) {
      if (&span != trace.spans.data()) all += ',';
      JsonObject one(all);
      one.text("traceId", span.trace_id);
      one.text("spanId", span.span_id);
      one.text_if("parentId", span.parent_id);
      one.text("name", span.name);
      one.text("kind", span.kind);
      one.raw("at") += in_ms(span.start_ns);
      one.raw("ms") += in_ms(span.end_ns - span.start_ns);
      one.text_if("error", span.error);
      JsonObject attributes(one.raw("attributes"));
      for (const auto& [name, value] : span.attributes) attributes.text(name, value);
    }
    all += ']';
    json.flag("more", trace.more);
  }
  return out;
}

}  // namespace freshet::tasks
