// Definitions of tables: keys, indexes, stream, TTL, books. Value types, used by the seam, templates and the wire.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/result.h"
#include "tables/value/value.h"

namespace freshet {

// Every system table's name starts with this, and no client's table does, so the wire tells them apart by name alone.
inline constexpr std::string_view kSystemTablePrefix = "freshet.";

struct KeyAttribute {
  std::string name;
  Type type = Type::kString;  // kString, kNumber or kBinary.
  bool operator==(const KeyAttribute&) const = default;
};

// The attributes of a key or of a part of it, in order; pointers into the schema. There are never more than kMost:
// validate() refuses a schema that has more, and until then the attributes beyond kMost are left out.
class KeyAttributes {
 public:
  static constexpr size_t kMost = 2 * limits::kMaxKeyPartAttributes;
  void add(const KeyAttribute& key) {
    if (size_ < kMost) keys_[size_++] = &key;
  }
  size_t size() const { return size_; }
  const KeyAttribute* operator[](size_t i) const { return keys_[i]; }
  const KeyAttribute* const* begin() const { return keys_; }
  const KeyAttribute* const* end() const { return keys_ + size_; }

 private:
  const KeyAttribute* keys_[kMost] = {};
  size_t size_ = 0;
};

// Keys of global indexes may have several attributes per part: together they form the partition, and order it, the
// first attribute first.
struct KeySchema {
  KeyAttribute partition;
  std::optional<KeyAttribute> sort;
  std::vector<KeyAttribute> more_partition{};  // The attributes that follow `partition`.
  std::vector<KeyAttribute> more_sort{};       // The attributes that follow `sort`, which is then set.
  bool operator==(const KeySchema&) const = default;

  bool is_composite() const { return !more_partition.empty() || !more_sort.empty(); }
  // All attributes, those of the partition first.
  KeyAttributes attributes() const;
  KeyAttributes partition_attributes() const;
  KeyAttributes sort_attributes() const;
};

enum class Projection { kAll, kKeysOnly, kInclude };

struct IndexDefinition {
  std::string name;
  KeySchema keys;
  bool local = false;  // Same partition key as the table.
  Projection projection = Projection::kAll;
  std::vector<std::string> included;  // For kInclude: the names of the projected attributes.
  bool operator==(const IndexDefinition&) const = default;
};

enum class StreamView { kKeysOnly, kNewImage, kOldImage, kNewAndOldImages };

// Turns the books on: the engine counts items by status, and every move between statuses, whoever caused it.
struct BooksDefinition {
  std::string status_attribute = "taskStatus";
  // Items in this status are not removed by TTL until they leave it (a held lease).
  std::string held_status = "TAKEN";
  bool operator==(const BooksDefinition&) const = default;
};

struct Throughput {
  int64_t read = 0;
  int64_t write = 0;
  bool operator==(const Throughput&) const = default;
};

// Settings that clients may change and read back. Only deletion_protection changes how the store behaves.
struct TableSettings {
  std::optional<Throughput> throughput;  // Empty: billed by request.
  std::map<std::string, Throughput, std::less<>> index_throughput;
  std::string table_class;  // Empty means STANDARD.
  bool deletion_protection = false;
  bool point_in_time_recovery = false;
  std::map<std::string, std::string> tags;
  bool operator==(const TableSettings&) const = default;
};

struct TableDefinition {
  std::string name;
  KeySchema keys;
  std::vector<IndexDefinition> indexes;
  std::optional<StreamView> stream;
  std::optional<std::string> ttl_attribute;  // The name of a number attribute in epoch seconds.
  bool ttl_in_milliseconds = false;          // True: values that can only be milliseconds are read as milliseconds.
  std::optional<BooksDefinition> books;
  bool system = false;  // A table of Freshet itself; clients cannot list or write it.
  TableSettings settings;
  bool operator==(const TableDefinition&) const = default;

  const IndexDefinition* index(std::string_view index_name) const;
};

// kValidation with the service's text: names, key types, limits, duplicate indexes, local index rules.
Result<void> validate(const TableDefinition& definition);

struct IndexState {
  std::string name;
  bool building = false;  // True while the index cannot be read yet.
  uint64_t items = 0;
  uint64_t bytes = 0;  // The size of the projections, as the service counts sizes.
};

// The origin of a table that was restored from a backup.
struct RestoreOrigin {
  std::string backup;  // The id of the backup.
  std::string table;   // The name of the table that was backed up.
  WallTime at{};
  bool in_progress = false;  // True until the restore is complete; until then the table cannot be used.
};

struct TableDescription {
  TableDefinition definition;
  std::string id;  // UUID.
  WallTime created{};
  std::optional<WallTime> by_request_since;  // When it last changed to billing by request; empty if never.
  std::string stream_label;                  // Empty without a stream. "2026-11-21T00:08:52.709"
  uint64_t items = 0;
  uint64_t bytes = 0;  // As the service counts sizes.
  std::vector<IndexState> indexes;
  std::optional<RestoreOrigin> restored;
};

// The cause of a write, for the books and the stream.
enum class Cause : uint8_t {
  kClient,     // Any client of the item store's API; the books count the move as foreign.
  kQueue,      // The queue that holds the claims.
  kTimeToLive  // The TTL sweep; its stream records carry the service's userIdentity.
};

// One arrow of the books. "" stands for outside the table; "?" for an item without the status attribute.
struct Arrow {
  std::string from;
  std::string to;
  Cause cause = Cause::kClient;
  auto operator<=>(const Arrow&) const = default;
};

// Invariant at every commit: for each status, sum of flow into it - sum of flow out of it = stock.
struct Books {
  std::map<std::string, uint64_t> stock;
  std::map<std::string, uint64_t> bytes;  // The bytes of the items in `stock`, as stored.
  std::map<Arrow, uint64_t> flow;
  bool operator==(const Books&) const = default;
};
// Names the first status whose numbers disagree, or success.
Result<void> check_balance(const Books& books);

}  // namespace freshet
