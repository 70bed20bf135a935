// What a FIFO topic remembers: how far its sequence numbers are, and which messages it was sent within the last five
// minutes (docs/formats.md, "System tables"). Pure functions, but for the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "streams/topics.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr std::string_view kSequenceKind = "topic-sequence";  // Of the system table; the id is the topic's name.
inline constexpr std::string_view kDeduplicationTable = "freshet.deduplication";
inline constexpr seconds kDeduplicationWindow{300};

struct FifoRecord {
  std::string incarnation;  // Another topic of the same name has another one: it does not know what this one was sent.
  uint64_t last = 0;        // Messages so far.
};
Item fifo_item(const std::string& topic, const FifoRecord& record);
FifoRecord fifo_record_of(const Item& item);

// A message that was sent, as it is remembered.
struct SentMessage {
  std::string key;
  Published published;
  WallTime at{};
};
// `scope`: the group, or "" if the whole topic is looked at. No two have the same key.
std::string deduplication_key(const std::string& topic, const FifoRecord& record, std::string_view scope,
                              std::string_view id);
GetItemInput get_sent(const std::string& key);
PutItemInput put_sent(const SentMessage& message);
// What it was answered with, if the window is still open.
std::optional<Published> answered_before(const Item& sent, WallTime now);

// Makes the table if it is not there. What it holds goes away by its TTL.
Async<Result<void>> ensure_deduplication_table(Tables& tables);

}  // namespace freshet
