#include "base/duration_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace freshet {
namespace {

struct Unit {
  std::string_view name;
  int64_t milliseconds;
};
// The largest first.
constexpr Unit kUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr double kMostMs = 9e15;  // Doubles count milliseconds exactly up to here.

const Unit* unit_named(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// The number at the beginning of the text, which is taken off. Digits with at most one point: no sign, no exponent.
std::optional<double> take_number(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, number, std::chars_format::fixed);
  if (end == 0 || error != std::errc{} || stop != text.data() + end) return std::nullopt;
  text.remove_prefix(end);
  return number;
}

tl::unexpected<Error> wrong(std::string_view text, const std::string& why) {
  return invalid("'" + std::string(text) + "' " + why);
}

}  // namespace

Result<milliseconds> parse_duration(std::string_view text, milliseconds least, milliseconds most) {
  constexpr const char* kForm = "is not a duration: write a number with its unit, like 500ms, 5s, 5m, 1h or 2d";
  double total = 0;
  const Unit* last = nullptr;
  for (std::string_view rest = text; !rest.empty() || last == nullptr;) {
    const auto number = take_number(rest);
    if (!number) return wrong(text, kForm);
    const std::string_view name = rest.substr(0, std::min(rest.find_first_of("0123456789."), rest.size()));
    if (name.empty()) {
      const std::string all(text);
      return wrong(text, "has no unit: write " + all + "s for seconds or " + all + "ms for milliseconds (m, h and d " +
                             "are minutes, hours and days)");
    }
    const Unit* unit = unit_named(name);
    if (unit == nullptr) {
      const bool is_date = name.find_first_of("-:") != name.npos;
      return wrong(text, !is_date ? "has the unit '" + std::string(name) + "': there are ms, s, m, h and d" : kForm);
    }
    if (last != nullptr && unit->milliseconds >= last->milliseconds) return wrong(text, kForm);
    last = unit;
    total += *number * static_cast<double>(unit->milliseconds);
    rest.remove_prefix(name.size());
  }
  const milliseconds duration(total < kMostMs ? std::llround(total) : static_cast<int64_t>(kMostMs));
  if (duration < least || duration > most) {
    return wrong(text, "is out of range: it must be from " + duration_text(least) + " to " + duration_text(most));
  }
  return duration;
}

std::string duration_text(milliseconds duration) {
  const int64_t count = duration.count();
  for (const Unit& unit : kUnits) {
    if (count > 0 && count % unit.milliseconds == 0) {
      return std::to_string(count / unit.milliseconds) + std::string(unit.name);
    }
  }
  return std::to_string(count) + (count == 0 ? "s" : "ms");
}

}  // namespace freshet
