// When a write happened, as its timestamp says: where that comes from, whether it can be believed, and until when a
// tombstone of that time is kept. Pure functions of what is given and an explicit now.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "functions/ordered/settings.h"
#include "runtime/ordered_writes.h"

namespace freshet::ordered {

struct Refusal {
  OrderedCode code = OrderedCode::kInvalid;
  std::string why;
};

// A write that has been looked at may reach the store so much later, and tombstones must still be there: at most a
// tenth of their retention.
inline constexpr milliseconds kOnTheWay{1000};

// `now` in that unit, which is not kToken.
Value stamp_of(WallTime now, Unit unit);

// When a timestamp says it was, rounded down; not of tokens.
WallTime time_of(const Value& stamp, Unit unit);

// Turns a given timestamp into its stored form: a whole number in the settings' unit, made of an ISO 8601 time if it is
// a string; a token stays as it is. The reason of a refusal goes on from the name of where it
// stood.
std::variant<Value, Refusal> read_stamp(const Value& given, const Settings& settings);

// Finds the value at a path like "event.at" or "times[0].end" in a record; null if there is none.
const Value* at_path(const Item& record, std::string_view path);

// Nothing if a write with that timestamp may be carried out now. Tokens have no age. With Old::kAccept an old timestamp
// is refused only if it is one of another unit.
std::optional<Refusal> check_age(const Value& stamp, const Settings& settings, WallTime now);

// The TTL of a tombstone: the first whole second at which it has been kept for the retention, from its own time on (of
// tokens, and of old timestamps with Old::kAccept: from now on).
int64_t expires_s(const Value& stamp, const Settings& settings, WallTime now);

}  // namespace freshet::ordered
