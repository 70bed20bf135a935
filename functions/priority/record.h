// A record of a queue, read from its item. Each change of a record is an update that requires the version that was
// read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/priority/settings.h"
#include "runtime/api/priority_queue.h"
#include "tables/tables.h"

namespace freshet::priority {

// Valid times are between these: the milliseconds of the years 2001 to 2286. A smaller number is in seconds, a larger
// one in micro- or nanoseconds.
inline constexpr int64_t kLeastMs = 1'000'000'000'000;
inline constexpr int64_t kMostMs = 9'999'999'999'999;

// Names inside system_info. The first group is the sample's; it reads only some of them.
namespace info {
inline constexpr std::string_view kId = "id";
inline constexpr std::string_view kCreated = "creation_timestamp";
inline constexpr std::string_view kUpdated = "last_updated_timestamp";
inline constexpr std::string_view kStatus = "status";
inline constexpr std::string_view kVersion = "version";
inline constexpr std::string_view kQueued = "queued";  // 0 or 1.
inline constexpr std::string_view kSelected = "queue_selected";
inline constexpr std::string_view kEnqueued = "queue_added_timestamp";  // As enqueue spells it.
inline constexpr std::string_view kAdded = "queue_add_timestamp";       // As restore spells it.
inline constexpr std::string_view kPeeked = "queue_peek_timestamp";
inline constexpr std::string_view kPeekedMs = "peek_utc_timestamp";
inline constexpr std::string_view kRemoved = "queue_remove_timestamp";
inline constexpr std::string_view kDead = "dlq_add_timestamp";
// Not in the sample.
inline constexpr std::string_view kReceipt = "queue_receipt";
inline constexpr std::string_view kPeeks = "queue_peek_count";
inline constexpr std::string_view kFailures = "queue_failure_count";
}  // namespace info

struct RecordFacts {
  std::string id;
  bool has_info = false;  // False: a plain item without system_info; it counts as version 0.
  std::string status;     // The initial state if there is none.
  int64_t version = 0;
  std::string created;
  std::string last_updated;            // A member of system_info.
  std::optional<int64_t> number;       // `queued`
  std::optional<int64_t> dead_number;  // `DLQ`
  bool selected = false;
  std::optional<int64_t> peeked_ms;
  std::optional<int64_t> visible_ms;
  std::string receipt;
  int64_t peeks = 0;
  int64_t failures = 0;
  std::optional<int64_t> priority;
  RecordPlace place = RecordPlace::kOutside;
  ItemRef item;  // The item that they were read from.
  // The time at which the visibility timeout of a record in flight ends. It is stored, as wall clock time, because
  // other programs peek the same table. The lease of a task (functions/queue/lease_book.h) is a duration that the
  // daemon times on its own boot clock; a heartbeat of a task begins it anew, where an extension of a record stores a
  // new time.
  int64_t due_ms(const Settings& settings) const;
};

// The id of an item, or of its key: the partition key, followed by the separator and the sort key if there is one.
std::string id_of(const ItemRef& item, const KeySchema& keys, char separator);
std::string id_of(const Item& key, const KeySchema& keys, char separator);
// The key alone.
Item key_in(const ItemRef& item, const KeySchema& keys);
// The key of an id. kValidation if no item of the table can have that id (not a number, no separator, too long).
Result<Item> key_of(const std::string& id, const KeySchema& keys, char separator);
// A text for a key that an id cannot express: every item has one, and it names no other item.
std::string place_of(const Item& key, const KeySchema& keys, char separator);
Result<Item> key_at(const std::string& place, const KeySchema& keys, char separator);

// kValidation naming attribute and item if a type or value is not one that a queue writes; `now_ms` distinguishes
// seconds from milliseconds.
Result<RecordFacts> read_facts(const ItemRef& item, const KeySchema& keys, const Settings& settings, int64_t now_ms);

// The bytes of the record's item (as the service counts them) if every attribute that a queue writes has its largest
// size: on the whole way from a peek to the dead-letter queue.
size_t largest_bytes(const RecordFacts& facts, const Settings& settings);

// True if the receipt is that of the record's last peek, by anybody.
bool holds_receipt(const RecordFacts& facts, std::string_view receipt);
std::string make_receipt(int64_t peeked_ms, uint64_t random);

// One update. For a record without system_info it sets the whole map.
class RecordUpdate {
 public:
  RecordUpdate(const RecordFacts& facts, const Settings& settings) : facts_(facts), settings_(settings) {}

  RecordUpdate& set(const std::string& attribute, Value value);
  RecordUpdate& remove(const std::string& attribute);
  RecordUpdate& set_info(std::string_view name, Value value);
  RecordUpdate& remove_info(std::string_view name);
  // last_updated_timestamp in system_info, and the one that indexes sort by if `place` is to change.
  RecordUpdate& stamp(const std::string& now, bool place);
  // Raises the version by one, under the condition that it is still that of the facts, and that the record was not
  // replaced: a put starts a record again at version 1.
  UpdateItemInput finish(Item key) &&;

 private:
  std::string name(std::string_view attribute);
  std::string value(Value value);

  const RecordFacts& facts_;
  const Settings& settings_;
  Placeholders placeholders_;
  std::string sets_;
  std::string removes_;
  Map fresh_;  // system_info for a record that has none.
};

}  // namespace freshet::priority
