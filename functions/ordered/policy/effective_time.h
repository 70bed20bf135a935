// The time of a write by its timestamp: where the timestamp comes from, if it is plausible, and until when its
// tombstone is kept. Pure functions of their arguments and an explicit now.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "functions/ordered/settings.h"
#include "runtime/api/ordered_writes.h"

namespace freshet::ordered {

struct Refusal {
  OrderedCode code = OrderedCode::kInvalid;
  std::string why;
};

// A checked write may reach the store this much later, and tombstones must still exist then: at most a tenth of their
// retention.
inline constexpr milliseconds kOnTheWay{1000};

// `now` in that unit, which is not kToken.
Value stamp_of(WallTime now, Unit unit);

// The time of a timestamp, rounded down; not for tokens.
WallTime time_of(const Value& stamp, Unit unit);

// Turns a given timestamp into its stored form: a whole number in the settings' unit, made of an ISO 8601 time if it is
// a string; a token stays as it is. The reason of a refusal is a text to put behind the name of its source.
std::variant<Value, Refusal> read_stamp(const Value& given, const Settings& settings);

// Finds the value at a path like "event.at" or "times[0].end" in a record; null if there is none.
const Value* at_path(const Item& record, std::string_view path);

// Empty if a write with that timestamp may be carried out now. Tokens have no age. With Old::kAccept an old timestamp
// is refused only if it is plausibly in another unit.
std::optional<Refusal> check_age(const Value& stamp, const Settings& settings, WallTime now);

// The TTL of a tombstone: the first whole second at which it has been kept for the retention, counted from its own time
// (for tokens, and for old timestamps with Old::kAccept: from now).
int64_t expires_s(const Value& stamp, const Settings& settings, WallTime now);

}  // namespace freshet::ordered
