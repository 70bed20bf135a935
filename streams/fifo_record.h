// The memory of a FIFO topic: its last sequence number, and the messages of the last five minutes (docs/formats.md,
// "System tables"). Pure functions, but for the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "streams/topics.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr std::string_view kSequenceKind = "topic-sequence";  // Kinds in the system table; the id is the topic's
                                                                     // name.
inline constexpr std::string_view kDeduplicationTable = "freshet.deduplication";
inline constexpr seconds kDeduplicationWindow{300};

struct FifoRecord {
  std::string incarnation;  // A later topic of the same name has another one: it does not know the messages of this
                            // one.
  uint64_t last = 0;        // The number of messages so far.
};
Item fifo_item(const std::string& topic, const FifoRecord& record);
FifoRecord fifo_record_of(const Item& item);

// A sent message, as it is remembered.
struct SentMessage {
  std::string key;
  Published published;
  WallTime at{};        // By the wall clock, whatever it shows.
  WallTime reckoned{};  // The same as WallGuard::reckoned() has it; differs while the wall clock is not trusted.
};
// `scope`: the group, or "" if the whole topic counts. Keys are unique.
std::string deduplication_key(const std::string& topic, const FifoRecord& record, std::string_view scope,
                              std::string_view id);
GetItemInput get_sent(const std::string& key);
PutItemInput put_sent(const SentMessage& message);
SentMessage sent_of(const Item& sent);  // Without its key.
// The answer to the first message, if the window is still open by either of its times. Without `now` the time is not
// known, and the window counts as open.
std::optional<Published> answered_before(const SentMessage& sent, std::optional<WallTime> now);

// Creates the table if it does not exist. Its TTL removes its items.
Async<Result<void>> ensure_deduplication_table(Tables& tables);

}  // namespace freshet
