// The mapping of ordered writes to one table: names of attributes, the unit of timestamps, their source, and how far
// they may be off. docs/ordered-writes.md has the table of all settings with their defaults; definition.h reads them
// from a file.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tables/definition.h"

namespace freshet::ordered {

// Attributes that ordered writes add to items.
struct Names {
  std::string timestamp = "Timestamp";
  std::string deleted = "Deleted";                   // True in tombstones, which have only keys and these attributes.
  std::string ttl = "TTL";                           // The expiry of a tombstone, in epoch seconds.
  std::string update_timestamp = "UpdateTimestamp";  // The timestamp of the last guarded update, while it is newer than
                                                     // the rest.
  std::string tie = "Tie";                           // With Ties::kContent: decides between equal timestamps.
  std::string update_tie = "UpdateTie";              // The same for guarded updates.
};

enum class Unit { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds, kToken };
std::string_view unit_name(Unit unit);  // "milliseconds"; "token"

enum class Ties {
  kArrival,  // With equal timestamps, the write that arrives last wins.
  kContent,  // A delete wins over an update, and that over a put; within a kind the content with the larger digest
             // wins.
};

// How to treat a write whose timestamp is older than tombstones are kept.
enum class Old {
  kRefuse,  // Nobody knows if the item was deleted since: TOO_OLD.
  kAccept,  // For imports: it is carried out unless there is a newer write. Tombstones are kept from now on.
};

struct Settings {
  std::string name;   // The name of the definition.
  std::string table;  // Holds the items.
  Names names;
  Unit unit = Unit::kMilliseconds;
  Type token_type = Type::kNumber;  // With Unit::kToken: kNumber or kString. Otherwise timestamps are numbers.
  std::string timestamp_path;       // The path of the timestamp in a record: "event.at", "times[0]"; empty: the time of
                                    // the first attempt.
  milliseconds max_skew{300'000};
  milliseconds retention{7LL * 86'400'000};    // The time for which tombstones are kept.
  std::vector<std::string> update_attributes;  // The attributes of guarded updates; empty: there are no guarded
                                               // updates.
  Ties ties = Ties::kArrival;
  Old old = Old::kRefuse;

  bool has_clock() const { return unit != Unit::kToken; }
};

inline constexpr milliseconds kLongestRetention{3660LL * 86'400'000};
inline constexpr size_t kMostUpdateAttributes = 20;

// kValidation naming the setting: empty or equal names, times out of range, update attributes that have a fixed use.
Result<void> validate(const Settings& settings);

// The table as it is made if it does not exist: with these keys and the TTL of tombstones.
TableDefinition ordered_table(const Settings& settings, KeySchema keys);
// `definition` with the TTL of tombstones. kValidation if its TTL is another attribute, if a key is an attribute that
// ordered writes use or update, or if an index would show tombstones without marking them.
Result<TableDefinition> as_ordered_table(TableDefinition definition, const Settings& settings);

}  // namespace freshet::ordered
