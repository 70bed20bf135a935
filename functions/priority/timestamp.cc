#include "functions/priority/timestamp.h"

#include <fmt/format.h>

#include <chrono>

namespace freshet::priority {
namespace {

// Takes `digits` digits from the front.
std::optional<int> take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// ".709" as nanoseconds; 0 without one; empty if there are no or too many digits.
std::optional<int64_t> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  int64_t nanoseconds = 0;
  size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits, text.remove_prefix(1)) {
    nanoseconds = nanoseconds * 10 + (text.front() - '0');
    if (digits == 9) return std::nullopt;
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 9; ++digits) nanoseconds *= 10;
  return nanoseconds;
}

// "Z", "+01", "+01:00" or "-01:30:15" at the end, in seconds.
std::optional<int64_t> take_offset(std::string_view& text) {
  if (take(text, 'Z')) return text.empty() ? std::optional<int64_t>(0) : std::nullopt;
  const bool west = !text.empty() && text.front() == '-';
  if (!west && (text.empty() || text.front() != '+')) return std::nullopt;
  text.remove_prefix(1);
  int64_t offset = 0;
  int64_t unit = 3600;
  for (bool first = true; unit > 0; first = false, unit /= 60) {
    if (!first && text.empty()) break;
    if (!first && !take(text, ':')) return std::nullopt;
    const auto part = take_number(text, 2);
    if (!part || *part > (first ? 18 : 59)) return std::nullopt;
    offset += *part * unit;
  }
  if (!text.empty()) return std::nullopt;
  return west ? -offset : offset;
}

}  // namespace

std::string format_timestamp(int64_t epoch_ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds(epoch_ns)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<nanoseconds> clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", int{date.year()}, unsigned{date.month()},
                     unsigned{date.day()}, clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::optional<int64_t> parse_timestamp(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = take_number(text, 4);
  if (!year_number || *year_number < 1700 || *year_number > 2200 || !take(text, '-')) return std::nullopt;
  const auto month_number = take_number(text, 2);
  if (!month_number || !take(text, '-')) return std::nullopt;
  const auto day_number = take_number(text, 2);
  if (!day_number || !take(text, 'T')) return std::nullopt;
  const year_month_day date{year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number))};
  const auto hour = take_number(text, 2);
  if (!date.ok() || !hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::optional<int> second = 0;
  std::optional<int64_t> fraction = 0;
  if (take(text, ':')) {
    second = take_number(text, 2);
    if (!second || *second > 59) return std::nullopt;
    fraction = take_fraction(text);
  }
  const auto offset = take_offset(text);
  if (!fraction || !offset) return std::nullopt;
  const auto since_midnight = hours(*hour) + minutes(*minute) + seconds(*second - *offset);
  return (sys_days(date).time_since_epoch() + since_midnight + nanoseconds(*fraction)) / nanoseconds(1);
}

}  // namespace freshet::priority
