// Change records in the standard event shape that functions (and clients of the stream protocol) know. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "streams/arn.h"
#include "tables/tables.h"

namespace freshet {

// Facts about a stream that its records do not contain.
struct StreamSource {
  Account account;
  std::string arn;
  StreamView view = StreamView::kKeysOnly;
};

// A stream has one shard.
inline constexpr std::string_view kShardId = "shardId-00000000000000000000-00000001";

std::string_view stream_view_name(StreamView view);                  // "KEYS_ONLY", ...
std::optional<StreamView> parse_stream_view(std::string_view name);  // Empty for any other name.
std::string_view event_name(ChangeRecord::Kind kind);                // "INSERT", "MODIFY", "REMOVE".

// Sequence numbers are written as decimal strings of 21 digits: "1" and the sequence with leading zeros, so that they
// sort as text and have the length that clients check for.
std::string sequence_number(uint64_t sequence);
// Also accepts a plain decimal of up to 20 digits as the sequence itself. Empty for anything else.
std::optional<uint64_t> parse_sequence_number(std::string_view text);

// Functions get userIdentity {"type", "principalId"}; the stream protocol spells {"Type", "PrincipalId"}.
enum class RecordStyle { kEvent, kProtocol };

// Appends one record as JSON, trimmed to the view. The event id depends on stream and sequence alone.
void append_stream_record(std::string& out, const ChangeRecord& record, const StreamSource& source,
                          RecordStyle style = RecordStyle::kEvent);
// {"Records":[...]}
std::string stream_event(std::span<const ChangeRecord> records, const StreamSource& source);

// The same record as plain data for patterns; without the member "dynamodb" unless it is requested.
Map stream_record_value(const ChangeRecord& record, const StreamSource& source, bool with_dynamodb);

}  // namespace freshet
