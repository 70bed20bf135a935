#include "runtime/deploy/schedule_expression.h"

#include <array>
#include <charconv>
#include <chrono>
#include <vector>

namespace freshet {
namespace {

using std::chrono::day;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::month;
using std::chrono::sys_days;
using std::chrono::weekday;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr int kFirstYear = 1970;
constexpr int kLastYear = 2199;

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::string_view part : split(text, ' ')) {
    if (!part.empty()) out.push_back(part);
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// One field of a cron expression: its bounds, its names, and the messages that name it.
struct Field {
  std::string_view name;
  int min;
  int max;
  std::vector<std::string_view> names = {};  // names[i] means min + i.
  bool wraps = false;                        // FRI-MON is a range.

  Error error(std::string_view text, std::string_view why) const {
    return {ErrorCode::kValidation, "cron " + std::string(name) + " " + quoted(text) + ": " + std::string(why), {}};
  }
  std::string range() const { return std::to_string(min) + "-" + std::to_string(max); }

  Result<int> value(std::string_view text) const {
    for (size_t i = 0; i < names.size(); ++i) {
      if (upper(text) == names[i]) return min + static_cast<int>(i);
    }
    auto n = number(text);
    if (n && *n >= min && *n <= max) return *n;
    std::string wanted = "expected " + range();
    if (!names.empty()) wanted += " or " + std::string(names.front()) + "-" + std::string(names.back());
    return fail(error(text, wanted));
  }

  // `a`, `*`, `a-b`, each with `/step`; `a/step` runs to the maximum.
  Result<std::vector<int>> values(std::string_view text) const {
    std::string_view body = text.substr(0, text.find('/'));
    int step = 1;
    if (body.size() < text.size()) {
      auto n = number(text.substr(body.size() + 1));
      if (!n || *n < 1 || *n > max) return fail(error(text, "the step must be 1-" + std::to_string(max)));
      step = *n;
    }
    int from = min;
    int to = max;
    if (body != "*") {
      size_t dash = body.find('-');
      auto first = value(body.substr(0, dash));
      if (!first) return fail(first.error());
      from = *first;
      to = body.size() < text.size() ? max : from;
      if (dash != body.npos) {
        auto last = value(body.substr(dash + 1));
        if (!last) return fail(last.error());
        to = *last;
      }
      if (to < from && !wraps) return fail(error(text, "the range runs backwards"));
      if (to < from) to += max - min + 1;
    }
    std::vector<int> out;
    for (int v = from; v <= to; v += step) out.push_back(v > max ? v - (max - min + 1) : v);
    return out;
  }

  template <size_t N>
  Result<void> fill(std::string_view text, std::bitset<N>& bits, int offset = 0) const {
    for (std::string_view part : split(text, ',')) {
      if (part == "?") return fail(error(text, "? is only for day-of-month and day-of-week"));
      auto parsed = values(part);
      if (!parsed) return fail(parsed.error());
      for (int v : *parsed) bits.set(static_cast<size_t>(v - offset));
    }
    return {};
  }
};

const Field& day_field() {
  static const Field field{"day-of-month", 1, 31};
  return field;
}

const Field& weekday_field() {
  static const Field field{"day-of-week", 1, 7, {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, true};
  return field;
}

Result<void> parse_days(std::string_view text, CronSchedule& cron) {
  const Field& field = day_field();
  for (std::string_view part : split(text, ',')) {
    std::string name = upper(part);
    if (name == "L") {
      cron.last_day = true;
    } else if (name == "LW" || name == "WL") {
      cron.last_weekday = true;
    } else if (name.size() > 1 && name.back() == 'W') {
      auto n = field.value(part.substr(0, part.size() - 1));
      if (!n) return fail(field.error(part, "before W stands one day, 1-31"));
      cron.near_days.set(static_cast<size_t>(*n));
    } else if (name.find_first_of("LW") != name.npos) {
      return fail(field.error(part, "L stands alone (the last day), W follows a day (15W) or L (LW)"));
    } else if (name.find('#') != name.npos) {
      return fail(field.error(part, "# is only for day-of-week"));
    } else if (auto filled = field.fill(part, cron.days); !filled) {
      return filled;
    }
  }
  return {};
}

Result<void> parse_weekdays(std::string_view text, CronSchedule& cron) {
  const Field& field = weekday_field();
  cron.by_day_of_week = true;
  if (size_t at = text.find('#'); at != text.npos) {
    auto which = field.value(text.substr(0, at));
    auto k = number(text.substr(at + 1));
    if (!which || !k || *k < 1 || *k > 5) {
      return fail(field.error(text, "expected one day#occurrence such as 6#3, the occurrence 1-5, and no list"));
    }
    cron.nth_weekday = *which;
    cron.nth = *k;
    return {};
  }
  for (std::string_view part : split(text, ',')) {
    std::string name = upper(part);
    if (name == "L") {
      cron.weekdays.set(7);
    } else if (name.size() > 1 && name.back() == 'L') {
      auto n = field.value(part.substr(0, part.size() - 1));
      if (!n) return fail(field.error(part, "before L stands one day, 1-7 or SUN-SAT"));
      cron.last_weekdays.set(static_cast<size_t>(*n));
    } else if (auto filled = field.fill(part, cron.weekdays); !filled) {
      return filled;
    }
  }
  return {};
}

Result<CronSchedule> parse_cron(std::string_view body) {
  auto fields = words(body);
  if (fields.size() != 6) {
    return invalid("cron(" + std::string(body) + ") has " + std::to_string(fields.size()) +
                   " fields; it needs 6: minutes hours day-of-month month day-of-week year");
  }
  static const Field kMinutes{"minutes", 0, 59};
  static const Field kHours{"hours", 0, 23};
  static const Field kMonths{
      "month", 1, 12, {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, true};
  static const Field kYears{"year", kFirstYear, kLastYear};
  CronSchedule cron;
  if (auto ok = kMinutes.fill(fields[0], cron.minutes); !ok) return fail(ok.error());
  if (auto ok = kHours.fill(fields[1], cron.hours); !ok) return fail(ok.error());
  if (auto ok = kMonths.fill(fields[3], cron.months); !ok) return fail(ok.error());
  if (auto ok = kYears.fill(fields[5], cron.years, kFirstYear); !ok) return fail(ok.error());
  if ((fields[2] == "?") == (fields[4] == "?")) {
    return invalid("cron(" + std::string(body) + "): exactly one of day-of-month (" + std::string(fields[2]) +
                   ") and day-of-week (" + std::string(fields[4]) + ") must be ?");
  }
  auto ok = fields[2] == "?" ? parse_weekdays(fields[4], cron) : parse_days(fields[2], cron);
  if (!ok) return fail(ok.error());
  return cron;
}

Result<RateSchedule> parse_rate(std::string_view body) {
  auto parts = words(body);
  auto n = parts.size() == 2 ? number(parts[0]) : std::nullopt;
  if (!n || *n < 1) {
    return invalid("rate(" + std::string(body) + "): expected a positive whole number and a unit, such as 5 minutes");
  }
  struct Unit {
    std::string_view name;
    seconds length;
  };
  static constexpr std::array<Unit, 4> kUnits{
      {{"second", seconds(1)}, {"minute", minutes(1)}, {"hour", hours(1)}, {"day", days(1)}}};
  for (const Unit& unit : kUnits) {
    std::string name(unit.name);
    if (parts[1] != name && parts[1] != name + "s") continue;
    std::string right = *n == 1 ? name : name + "s";
    if (parts[1] != right) {
      return invalid("rate(" + std::string(body) + "): write rate(" + std::to_string(*n) + " " + right + ")");
    }
    return RateSchedule{unit.length * *n};
  }
  return invalid("rate(" + std::string(body) + "): the unit " + quoted(parts[1]) +
                 " is unknown; expected minute(s), hour(s), day(s) or second(s)");
}

Result<OnceSchedule> parse_once(std::string_view body) {
  auto wrong = [&] {
    return invalid("at(" + std::string(body) + "): expected a time that exists, in the form yyyy-mm-ddThh:mm:ss (UTC)");
  };
  static constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (body.size() != kForm.size()) return wrong();
  for (size_t i = 0; i < body.size(); ++i) {
    bool digit = body[i] >= '0' && body[i] <= '9';
    if (kForm[i] == 'd' ? !digit : body[i] != kForm[i]) return wrong();
  }
  auto part = [&](size_t at, size_t size) { return *number(body.substr(at, size)); };
  year_month_day date{year(part(0, 4)), month(static_cast<unsigned>(part(5, 2))),
                      day(static_cast<unsigned>(part(8, 2)))};
  int h = part(11, 2);
  int m = part(14, 2);
  int s = part(17, 2);
  if (!date.ok() || h > 23 || m > 59 || s > 59) return wrong();
  return OnceSchedule{sys_days(date) + hours(h) + minutes(m) + seconds(s)};
}

// The weekday of the same month that is nearest to `date`.
sys_days nearest_weekday(year_month_day date, year_month_day last) {
  sys_days at(date);
  unsigned which = weekday(at).c_encoding();  // 0 is Sunday.
  if (which == 6) return date.day() == day(1) ? at + days(2) : at - days(1);
  if (which == 0) return date.day() == last.day() ? at - days(2) : at + days(1);
  return at;
}

// The days of one month on which it fires.
std::bitset<32> firing_days(const CronSchedule& cron, year y, month m) {
  year_month_day last(y / m / std::chrono::last);
  unsigned count = static_cast<unsigned>(last.day());
  std::bitset<32> out;
  auto add = [&](sys_days at) { out.set(static_cast<unsigned>(year_month_day(at).day())); };
  for (unsigned d = 1; d <= count; ++d) {
    year_month_day date(y, m, day(d));
    if (!cron.by_day_of_week) {
      if (cron.days[d]) out.set(d);
      if (cron.near_days[d]) add(nearest_weekday(date, last));
      continue;
    }
    unsigned which = weekday(sys_days(date)).c_encoding() + 1;
    bool is_last = d + 7 > count;
    bool is_nth = static_cast<int>(which) == cron.nth_weekday && static_cast<int>((d - 1) / 7) + 1 == cron.nth;
    if (cron.weekdays[which] || (cron.last_weekdays[which] && is_last) || is_nth) out.set(d);
  }
  if (cron.last_day) out.set(count);
  if (cron.last_weekday) add(nearest_weekday(last, last));
  return out;
}

// The first firing minute of that day at or after minute `from` of it; empty if there is none.
std::optional<minutes> firing_minute(const CronSchedule& cron, int from) {
  for (int at = from; at < 24 * 60;) {
    if (!cron.hours[static_cast<size_t>(at / 60)]) {
      at = (at / 60 + 1) * 60;
    } else if (cron.minutes[static_cast<size_t>(at % 60)]) {
      return minutes(at);
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

std::optional<WallTime> next_cron(const CronSchedule& cron, WallTime after) {
  if (after >= sys_days(year(kLastYear + 1) / 1 / 1)) return std::nullopt;
  WallTime first{};
  if (after >= first) first = std::chrono::floor<minutes>(after) + minutes(1);
  sys_days today = std::chrono::floor<days>(first);
  year_month_day start(today);
  for (int y = static_cast<int>(start.year()); y <= kLastYear; ++y) {
    if (!cron.years[static_cast<size_t>(y - kFirstYear)]) continue;
    for (unsigned m = 1; m <= 12; ++m) {
      if (!cron.months[m]) continue;
      if (year(y) / month(m) < start.year() / start.month()) continue;
      std::bitset<32> firing = firing_days(cron, year(y), month(m));
      for (unsigned d = 1; d <= 31; ++d) {
        if (!firing[d]) continue;
        sys_days date = year(y) / month(m) / day(d);
        if (date < today) continue;
        int from = date == today ? static_cast<int>(std::chrono::floor<minutes>(first - today).count()) : 0;
        if (auto minute = firing_minute(cron, from)) return date + *minute;
      }
    }
  }
  return std::nullopt;
}

std::optional<WallTime> next_rate(const RateSchedule& rate, WallTime after, WallTime start) {
  if (after < start) return start + rate.period;
  auto passed = (after - start) / milliseconds(rate.period);
  return start + milliseconds(rate.period) * (passed + 1);
}

}  // namespace

Result<ScheduleExpression> ScheduleExpression::parse(std::string_view text) {
  size_t open = text.find('(');
  if (open == text.npos || text.back() != ')' || text.size() > 256) {
    return invalid("schedule " + quoted(text.substr(0, 256)) +
                   ": expected rate(5 minutes), cron(minutes hours day-of-month month day-of-week year) or "
                   "at(yyyy-mm-ddThh:mm:ss)");
  }
  std::string_view kind = text.substr(0, open);
  std::string_view body = text.substr(open + 1, text.size() - open - 2);
  ScheduleExpression out;
  out.text_ = std::string(text);
  auto keep = [&](auto parsed) -> Result<ScheduleExpression> {
    if (!parsed) return fail(parsed.error());
    out.schedule_ = *parsed;
    return out;
  };
  if (kind == "rate") return keep(parse_rate(body));
  if (kind == "at") return keep(parse_once(body));
  if (kind != "cron") {
    return invalid("schedule " + quoted(text) + ": " + quoted(kind) + " is unknown; expected rate, cron or at");
  }
  auto cron = parse_cron(body);
  if (cron && !next_cron(*cron, WallTime::min())) return invalid("schedule " + quoted(text) + " never fires");
  return keep(std::move(cron));
}

std::optional<WallTime> ScheduleExpression::next_fire(WallTime after, WallTime start) const {
  if (auto* rate = std::get_if<RateSchedule>(&schedule_)) return next_rate(*rate, after, start);
  if (auto* once = std::get_if<OnceSchedule>(&schedule_)) {
    return once->at > after ? std::optional(once->at) : std::nullopt;
  }
  return next_cron(std::get<CronSchedule>(schedule_), after);
}

}  // namespace freshet
