#include "runtime/invoke/mapping_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "streams/stream_event.h"
#include "tables/value/json.h"
#include "tables/value/json_reader.h"

namespace freshet {

namespace {

void append_json(std::string& out, const JsonView& value) {
  const auto all = [&](char open, char close) {
    out += open;
    for (const JsonView member : value) {
      if (out.back() != open) out += ',';
      if (open == '{') {
        append_json_string(out, member.name());
        out += ':';
      }
      append_json(out, member);
    }
    out += close;
  };
  switch (value.kind()) {
    case JsonKind::kNull:
      out += "null";
      break;
    case JsonKind::kBool:
      out += value.boolean() ? "true" : "false";
      break;
    case JsonKind::kNumber:
      out += value.text();
      break;
    case JsonKind::kString:
      append_json_string(out, value.text());
      break;
    case JsonKind::kArray:
      all('[', ']');
      break;
    case JsonKind::kObject:
      all('{', '}');
      break;
  }
}

// "2020-07-30T17:00:00Z".
std::string whole_second(int64_t epoch) {
  std::string text = iso8601(WallTime(seconds(epoch)));
  if (const size_t fraction = text.find('.'); fraction != text.npos) text.replace(fraction, text.npos, "Z");
  return text;
}

}  // namespace

std::optional<std::string> state_of_response(const std::string& response) {
  JsonDocument document;
  const auto parsed = document.parse(response);
  if (!parsed || !parsed->is(JsonKind::kObject)) return std::nullopt;
  const auto state = parsed->find("state");
  if (!state || !state->is(JsonKind::kObject)) return std::nullopt;
  std::string text;
  append_json(text, *state);
  return text;
}

std::string window_members(const WindowEvent& event) {
  std::string out = fmt::format(R"(,"window":{{"start":"{}","end":"{}"}},"state":{},"shardId":"{}","eventSourceARN":)",
                                whole_second(event.start), whole_second(event.end), event.state, kShardId);
  append_json_string(out, event.stream_arn);
  fmt::format_to(std::back_inserter(out), R"(,"isFinalInvokeForWindow":{},"isWindowTerminatedEarly":{})", event.last,
                 event.early);
  return out;
}

namespace {

// `place_of` returns the index of the record that an identifier names, or `count`.
template <class PlaceOf>
size_t first_failed_in(const std::string& response, size_t count, PlaceOf place_of) {
  JsonDocument document;
  const auto parsed = document.parse(response);
  if (!parsed || !parsed->is(JsonKind::kObject)) return count;
  const auto failures = parsed->find("batchItemFailures");
  if (!failures) return count;
  if (!failures->is(JsonKind::kArray)) return 0;
  size_t first = count;
  for (const JsonView failure : *failures) {
    const auto identifier = failure.string_or("itemIdentifier");
    const size_t place = identifier ? place_of(*identifier) : count;
    if (place == count) return 0;
    first = std::min(first, place);
  }
  return first;
}

}  // namespace

size_t first_failed(const std::string& response, std::span<const uint64_t> sequences) {
  return first_failed_in(response, sequences.size(), [&](std::string_view identifier) {
    const auto sequence = parse_sequence_number(identifier);
    if (!sequence) return sequences.size();
    const auto found = std::ranges::lower_bound(sequences, *sequence);
    const bool is_there = found != sequences.end() && *found == *sequence;
    return is_there ? static_cast<size_t>(found - sequences.begin()) : sequences.size();
  });
}

size_t first_failed_of(const std::string& response, std::span<const std::string> numbers) {
  return first_failed_in(response, numbers.size(), [&](std::string_view identifier) {
    return static_cast<size_t>(std::ranges::find(numbers, identifier) - numbers.begin());
  });
}

std::string dropped_batch_document(const DroppedBatch& batch) {
  std::string out;
  const auto text = [&out](std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(out), R"("{}":)", name);
    append_json_string(out, value);
  };
  out += R"({"requestContext":{)";
  text("functionArn", batch.function_arn);
  out += ',';
  text("condition", batch.condition);
  fmt::format_to(std::back_inserter(out), R"(,"approximateInvokeCount":{}}},)", batch.attempts);
  if (batch.attempts > 0) {
    out += R"("responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled",)";
    text("errorMessage", batch.error);
    out += "},";
  }
  fmt::format_to(std::back_inserter(out), R"("version":"1.0","timestamp":"{}","DDBStreamBatchInfo":{{)",
                 iso8601(batch.at));
  text("shardId", batch.shard);
  out += ',';
  text("startSequenceNumber", batch.first);
  out += ',';
  text("endSequenceNumber", batch.last);
  fmt::format_to(std::back_inserter(out),
                 R"(,"approximateArrivalOfFirstRecord":"{}","approximateArrivalOfLastRecord":"{}","batchSize":{},)",
                 iso8601(batch.first_at), iso8601(batch.last_at), batch.size);
  text("streamArn", batch.stream_arn);
  out += "}}";
  return out;
}

}  // namespace freshet
