// How ordered writes lie over one table: names of attributes, the unit of timestamps and where they come from, how far
// they may be off. The table of them all, with defaults, is in docs/ordered-writes.md; reading them from a file is
// definition.h.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tables/definition.h"

namespace freshet::ordered {

// Attributes that ordered writes keep in items.
struct Names {
  std::string timestamp = "Timestamp";
  std::string deleted = "Deleted";                   // True in tombstones, which have nothing but keys and these.
  std::string ttl = "TTL";                           // When a tombstone expires, in epoch seconds.
  std::string update_timestamp = "UpdateTimestamp";  // The last guarded update's, where it is newer than the rest.
  std::string tie = "Tie";                           // With Ties::kContent: what decides between equal timestamps.
  std::string update_tie = "UpdateTie";              // The same for guarded updates.
};

enum class Unit { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds, kToken };
std::string_view unit_name(Unit unit);  // "milliseconds"; "token"

enum class Ties {
  kArrival,  // If timestamps are equal, the write that arrives last stays.
  kContent,  // A delete before an update before a put; of two of a kind the one whose content has the larger digest.
};

// Decides about a write whose timestamp is older than tombstones are kept.
enum class Old {
  kRefuse,  // Nobody knows whether the item was deleted since: TOO_OLD.
  kAccept,  // For imports: it is carried out unless something newer is there. Tombstones are kept from now on.
};

struct Settings {
  std::string name;   // The definition's name.
  std::string table;  // Holds the items.
  Names names;
  Unit unit = Unit::kMilliseconds;
  Type token_type = Type::kNumber;  // With Unit::kToken kNumber or kString; timestamps are numbers.
  std::string timestamp_path;       // Where it stands in a record: "event.at", "times[0]"; empty: the first attempt.
  milliseconds max_skew{300'000};
  milliseconds retention{7LL * 86'400'000};    // Tombstones are kept so long.
  std::vector<std::string> update_attributes;  // Those of guarded updates; none: there are no guarded updates.
  Ties ties = Ties::kArrival;
  Old old = Old::kRefuse;

  bool has_clock() const { return unit != Unit::kToken; }
};

inline constexpr milliseconds kLongestRetention{3660LL * 86'400'000};
inline constexpr size_t kMostUpdateAttributes = 20;

// kValidation naming the setting: empty or equal names, times out of range, update attributes that are kept.
Result<void> validate(const Settings& settings);

// The table as it is made if it is not there: with these keys and the TTL of tombstones.
TableDefinition ordered_table(const Settings& settings, KeySchema keys);
// `definition` with the TTL of tombstones. kValidation if its TTL is another attribute, if a key is an attribute that
// is kept or updated, or if an index would show tombstones without saying that they are.
Result<TableDefinition> as_ordered_table(TableDefinition definition, const Settings& settings);

}  // namespace freshet::ordered
