#include "runtime/invoke/mapping_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "streams/stream_event.h"
#include "tables/value/json.h"
#include "tables/value/json_reader.h"

namespace freshet {

size_t first_failed(const std::string& response, std::span<const ChangeRecord> records) {
  JsonDocument document;
  const auto parsed = document.parse(response);
  if (!parsed || !parsed->is(JsonKind::kObject)) return records.size();
  const auto failures = parsed->find("batchItemFailures");
  if (!failures) return records.size();
  if (!failures->is(JsonKind::kArray)) return 0;
  size_t first = records.size();
  for (const JsonView failure : *failures) {
    const auto identifier = failure.string_or("itemIdentifier");
    const auto sequence = identifier ? parse_sequence_number(*identifier) : std::nullopt;
    if (!sequence) return 0;
    const auto found = std::ranges::lower_bound(records, *sequence, {}, &ChangeRecord::sequence);
    if (found == records.end() || found->sequence != *sequence) return 0;
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
