#include "runtime/invoke/mapping_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "streams/stream_event.h"
#include "tables/value/json.h"

namespace freshet {

size_t first_failed(const std::string& response, std::span<const ChangeRecord> records) {
  const auto parsed = parse_plain_json(response);
  const Map* map = parsed ? parsed->get_if<Map>() : nullptr;
  if (!map) return records.size();
  const Value* member = map->find("batchItemFailures");
  if (!member || member->is(Type::kNull)) return records.size();
  const List* failures = member->get_if<List>();
  if (!failures) return 0;
  size_t first = records.size();
  for (const Value& failure : failures->elements) {
    const Map* entry = failure.get_if<Map>();
    const auto sequence = entry ? parse_sequence_number(entry->string_or("itemIdentifier")) : std::nullopt;
    const auto found = std::find_if(records.begin(), records.end(),
                                    [&](const ChangeRecord& record) { return record.sequence == sequence; });
    if (!sequence || found == records.end()) return 0;
    first = std::min(first, static_cast<size_t>(found - records.begin()));
  }
  return first;
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
  text("shardId", kShardId);
  out += ',';
  text("startSequenceNumber", sequence_number(batch.first));
  out += ',';
  text("endSequenceNumber", sequence_number(batch.last));
  fmt::format_to(std::back_inserter(out),
                 R"(,"approximateArrivalOfFirstRecord":"{}","approximateArrivalOfLastRecord":"{}","batchSize":{},)",
                 iso8601(batch.first_at), iso8601(batch.last_at), batch.size);
  text("streamArn", batch.stream_arn);
  out += "}}";
  return out;
}

}  // namespace freshet
