#include "functions/ordered/policy/effective_time.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "functions/priority/timestamp.h"

namespace freshet::ordered {
namespace {

constexpr std::array<Unit, 4> kTimes = {Unit::kSeconds, Unit::kMilliseconds, Unit::kMicroseconds, Unit::kNanoseconds};

int64_t nanoseconds_of(Unit unit) {
  switch (unit) {
    case Unit::kSeconds:
      return 1'000'000'000;
    case Unit::kMilliseconds:
      return 1'000'000;
    case Unit::kMicroseconds:
      return 1000;
    default:
      return 1;
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Epoch milliseconds, rounded down; what no clock shows stays beyond all that it is compared with.
int64_t ms_of(int64_t number, Unit unit) {
  constexpr int64_t kFarthest = 1'000'000'000'000'000;
  if (unit == Unit::kSeconds) return std::clamp(number, -kFarthest / 1000, kFarthest / 1000) * 1000;
  if (unit != Unit::kMilliseconds) number = floor_div(number, 1'000'000 / nanoseconds_of(unit));
  return std::clamp(number, -kFarthest, kFarthest);
}

bool in_range(int64_t at_ms, const Settings& s, int64_t now_ms) {
  const milliseconds on_the_way = std::min(kOnTheWay, s.retention / 10);
  return at_ms > now_ms - (s.retention - on_the_way).count() && at_ms <= now_ms + s.max_skew.count();
}

// A time that data of today may be of: since the year 2000.
bool is_usual(int64_t at_ms, const Settings& s, int64_t now_ms) {
  constexpr int64_t kYear2000 = 946'684'800'000;
  return at_ms >= kYear2000 && at_ms <= now_ms + s.max_skew.count();
}

// For people: what the number would be right as.
std::string unit_hint(int64_t number, const Settings& s, int64_t now_ms) {
  const bool may_be_old = !is_usual(ms_of(number, s.unit), s, now_ms);  // Old data in another unit.
  for (const Unit unit : kTimes) {
    const int64_t at_ms = ms_of(number, unit);
    if (unit != s.unit && (in_range(at_ms, s, now_ms) || (may_be_old && is_usual(at_ms, s, now_ms)))) {
      return "; it looks like " + std::string(unit_name(unit)) + ", but the unit here is " +
             std::string(unit_name(s.unit));
    }
  }
  return "";
}

Refusal not_a_stamp(const Value& given, const Settings& s) {
  const std::string is = " is of type " + std::string(type_name(given.type()));
  if (s.unit == Unit::kToken) {
    return {OrderedCode::kInvalid, is + "; a token is of type " + std::string(type_name(s.token_type)) + " here"};
  }
  return {OrderedCode::kInvalid, is + "; a timestamp is a whole number of " + std::string(unit_name(s.unit)) +
                                     ", or an ISO 8601 time as text"};
}

// Reads one step of a path, ".name", "name" or "[3]", off the front. Null if the value has no such thing.
const Value* step(const Value& from, std::string_view& path) {
  if (path.front() == '[') {
    size_t index = 0;
    const auto [end, error] = std::from_chars(path.data() + 1, path.data() + path.size(), index);
    const List* list = from.get_if<List>();
    if (error != std::errc{} || end == path.data() + path.size() || *end != ']') return nullptr;
    path.remove_prefix(static_cast<size_t>(end - path.data()) + 1);
    return list != nullptr && index < list->elements.size() ? &list->elements[index] : nullptr;
  }
  if (path.front() == '.') path.remove_prefix(1);
  const std::string_view name = path.substr(0, path.find_first_of(".["));
  path.remove_prefix(name.size());
  const Map* map = from.get_if<Map>();
  return map != nullptr && !name.empty() ? map->find(name) : nullptr;
}

}  // namespace

Value stamp_of(WallTime now, Unit unit) {
  if (unit == Unit::kSeconds) return Value::number(epoch_s(now));
  return Value::number(epoch_ms(now) * (1'000'000 / nanoseconds_of(unit)));
}

WallTime time_of(const Value& stamp, Unit unit) {
  bool fits = false;
  return WallTime(milliseconds(ms_of(stamp.get_if<Decimal>()->to_int64(fits), unit)));
}

std::variant<Value, Refusal> read_stamp(const Value& given, const Settings& s) {
  if (s.unit == Unit::kToken) {
    if (given.type() != s.token_type) return not_a_stamp(given, s);
    return given;
  }
  if (const auto* text = given.get_if<std::string>()) {
    const auto at = priority::parse_timestamp(*text);
    if (!at)
      return Refusal{OrderedCode::kInvalid, " is '" + text->substr(0, 100) +
                                                "', which is no ISO 8601 time like 2026-12-01T10:00:00Z, nor a number"};
    return Value::number(floor_div(*at, nanoseconds_of(s.unit)));
  }
  const auto* number = given.get_if<Decimal>();
  if (number == nullptr) return not_a_stamp(given, s);
  bool fits = false;
  (void)number->to_int64(fits);
  if (!fits) {
    return Refusal{OrderedCode::kInvalid,
                   " is " + number->to_string() + "; it must be a whole number of " + std::string(unit_name(s.unit))};
  }
  return given;
}

const Value* at_path(const Item& record, std::string_view path) {
  const std::string_view first = path.substr(0, path.find_first_of(".["));
  const Value* value = record.find(first);
  path.remove_prefix(first.size());
  while (value != nullptr && !path.empty()) value = step(*value, path);
  return value;
}

std::optional<Refusal> check_age(const Value& stamp, const Settings& s, WallTime now) {
  if (!s.has_clock()) return {};
  bool fits = false;
  const int64_t number = stamp.get_if<Decimal>()->to_int64(fits);
  const int64_t at = ms_of(number, s.unit);
  const int64_t now_ms = epoch_ms(now);
  if (in_range(at, s, now_ms)) return {};
  const std::string hint = unit_hint(number, s, now_ms);
  const std::string stamp_text = "the timestamp " + std::to_string(number);
  if (at > now_ms) {
    return Refusal{OrderedCode::kTooFarAhead, stamp_text + " is " + std::to_string(at - now_ms) +
                                                  " ms ahead of the clock here, where max_skew is " +
                                                  std::to_string(s.max_skew.count()) + " ms" + hint};
  }
  // One in the wrong unit is nothing to import.
  if (s.old == Old::kAccept && hint.empty()) return {};
  return Refusal{OrderedCode::kTooOld,
                 stamp_text + " is " + std::to_string(now_ms - at) + " ms ago, and tombstones are kept for " +
                     std::to_string(s.retention.count()) + " ms: the item may have been deleted since" +
                     (hint.empty() ? R"(. For imports set "old_timestamps": "accept" in the definition)" : hint)};
}

int64_t expires_s(const Value& stamp, const Settings& s, WallTime now) {
  int64_t from = epoch_ms(s.has_clock() ? time_of(stamp, s.unit) : now);
  // An old delete is an import. By its own time its tombstone would be gone before an older put comes.
  if (s.old == Old::kAccept && !in_range(from, s, epoch_ms(now))) from = epoch_ms(now);
  return -floor_div(-(from + s.retention.count()), 1000);
}

}  // namespace freshet::ordered
