#include "functions/runners/limit_headers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/number_text.h"

namespace freshet {

namespace {

constexpr double kMostUnits = 1e12;
constexpr milliseconds kClocksDiffer{2'000};
constexpr double kMostSeconds = 366.0 * 24 * 3600;

bool number_at(std::string_view text, size_t from, size_t length, int& out) {
  if (from + length > text.size()) return false;
  return read_number_in(text.substr(from, length), out);
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form that servers may send (RFC 9110, 5.6.7).
std::optional<WallTime> http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  int day = 0, year = 0, hour = 0, minute = 0, second = 0;
  if (text.size() != 29 || !text.ends_with(" GMT")) return {};
  bool numbers = number_at(text, 5, 2, day) && number_at(text, 12, 4, year) && number_at(text, 17, 2, hour) &&
                 number_at(text, 20, 2, minute) && number_at(text, 23, 2, second);
  if (!numbers) return {};
  for (unsigned month = 0; month < 12; ++month) {
    if (text.substr(8, 3) != kMonths[month]) continue;
    std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month + 1),
                                     std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return {};
    return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           seconds(second);
  }
  return {};
}

// ASCII, `prefix` in lower case.
bool begins_with(std::string_view text, std::string_view prefix) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(), [&](char want, char is) { return want == lower(is); });
}

// Most answers have none of them.
bool has_any(const HttpHeaders& headers) {
  return std::any_of(headers.begin(), headers.end(), [](const auto& one) {
    return begins_with(one.first, "ratelimit") || begins_with(one.first, "x-rate") ||
           begins_with(one.first, "retry-after");
  });
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// The parts between `mark`, but for those within quotation marks.
std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> out;
  bool quoted = false;
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] != mark || quoted) continue;
    out.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  out.push_back(trimmed(text.substr(from)));
  return out;
}

std::optional<double> number(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, std::chars_format::fixed);
  const bool whole = error == std::errc() && end == text.data() + text.size() && std::isfinite(out);
  return whole ? std::optional(out) : std::nullopt;
}

std::optional<double> units(std::string_view text) {
  const auto out = number(text);
  return out && *out >= 0 ? std::optional(std::min(*out, kMostUnits)) : std::nullopt;
}

std::optional<milliseconds> span(std::string_view text) {
  const auto out = number(text);
  if (!out || *out < 0) return {};
  return milliseconds(static_cast<int64_t>(std::min(*out, kMostSeconds) * 1000));
}

// Seconds from now, epoch seconds, epoch milliseconds, or a date.
std::optional<milliseconds> reset_of(std::string_view text, WallTime now, bool& is_time) {
  constexpr double kEpochSeconds = 1e8;
  constexpr double kEpochMilliseconds = 1e11;
  const auto longest = milliseconds(static_cast<int64_t>(kMostSeconds * 1000));
  const auto until = [&](WallTime at) { return std::clamp<milliseconds>(at - now, milliseconds(0), longest); };
  is_time = true;
  if (const auto date = http_date(text)) return until(*date);
  is_time = false;
  const auto value = number(text);
  if (!value || *value < 0 || *value > 1e15) return {};
  if (*value < kEpochSeconds) return span(text);
  is_time = true;
  const double scale = *value < kEpochMilliseconds ? 1000 : 1;
  return until(WallTime(milliseconds(static_cast<int64_t>(*value * scale))));
}

// One member of a list, as `"name";q=20;w=1` or `limit=20`.
struct Member {
  std::string_view head;
  std::vector<std::pair<std::string_view, std::string_view>> parameters;

  std::string_view find(std::string_view name) const {
    for (const auto& [key, value] : parameters) {
      if (key == name) return value;
    }
    return {};
  }
};

std::pair<std::string_view, std::string_view> pair_of(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return {text, {}};
  return {trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
}

std::vector<Member> members_of(std::string_view text) {
  std::vector<Member> out;
  for (const auto part : split(text, ',')) {
    if (part.empty()) continue;
    const auto parameters = split(part, ';');
    Member member{parameters.front(), {}};
    for (size_t i = 1; i < parameters.size(); ++i) member.parameters.push_back(pair_of(parameters[i]));
    out.push_back(std::move(member));
  }
  return out;
}

// All headers of that name, in lower case, as one list.
std::string joined(const HttpHeaders& headers, std::string_view name) {
  std::string out;
  for (const auto& [key, value] : headers) {
    if (key.size() == name.size() && begins_with(key, name)) out += (out.empty() ? "" : ", ") + value;
  }
  return out;
}

bool read_policy(const Member& policy, LimitHints& out) {
  const auto quota = units(policy.find("q"));
  const auto plain = units(policy.head);  // Version 7: 100;w=60.
  if (!quota && !plain) return false;
  out.limit = quota ? quota : plain;
  out.window = span(policy.find("w"));
  out.concurrent = policy.find("qu") == "\"concurrent-requests\"";
  return true;
}

// RateLimit and RateLimit-Policy. False: they are not there.
bool read_structured(const HttpHeaders& headers, LimitHints& out) {
  const std::string limits = joined(headers, "ratelimit");
  const std::string policies_text = joined(headers, "ratelimit-policy");
  const auto policies = members_of(policies_text);
  bool any = false;
  for (const auto& member : members_of(limits)) {
    const auto [key, value] = pair_of(member.head);
    if (key == "limit" && !value.empty()) out.limit = units(value);
    if (key == "remaining" && !value.empty()) out.remaining = units(value);
    if (key == "reset" && !value.empty()) out.reset = span(value);
    any = any || !value.empty();
    const auto left = units(member.find("r"));
    if (!left || (out.remaining && *out.remaining <= *left)) continue;
    any = true;
    out = LimitHints{out.retry_after, {}, {}, left, span(member.find("t")), false};
    for (const auto& policy : policies) {
      if (policy.head == member.head) read_policy(policy, out);
    }
  }
  if (policies.size() == 1 && (!out.limit || !out.window)) any = read_policy(policies[0], out) || any;
  return any;
}

// The three headers RateLimit-Limit, -Remaining and -Reset, with their prefix.
bool read_three(const HttpHeaders& headers, const std::string& prefix, WallTime now, LimitHints& out) {
  const auto limit = joined(headers, prefix + "limit");
  const auto members = members_of(limit);
  if (!members.empty()) out.limit = units(members[0].head);
  for (const auto& member : members) {
    if (!out.window) out.window = span(member.find("w"));
  }
  out.remaining = units(header(headers, prefix + "remaining"));
  out.reset = reset_of(header(headers, prefix + "reset"), now, out.reset_is_time);
  return out.limit || out.remaining || out.reset;
}

}  // namespace

std::optional<milliseconds> retry_after(std::string_view text, WallTime now) {
  constexpr int64_t kLongestWait = 30 * 24 * 3600;
  int64_t wait = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wait);
  if (end == text.data() + text.size() && !text.starts_with('-')) {
    if (error == std::errc()) return milliseconds(std::min(wait, kLongestWait) * 1000);
    if (error == std::errc::result_out_of_range)
      return milliseconds(kLongestWait * 1000);  // Seconds, beyond any number.
  }
  auto date = http_date(text);
  if (!date) return {};
  return std::clamp<milliseconds>(*date - now, milliseconds(0), milliseconds(kLongestWait * 1000));
}

LimitHints limit_hints(const HttpHeaders& headers, WallTime now) {
  LimitHints out;
  if (!has_any(headers)) return out;
  // By the server's own clock, if that is off. Its Date is in whole seconds.
  if (const auto date = http_date(header(headers, "Date")); date && std::chrono::abs(*date - now) > kClocksDiffer) {
    now = *date + milliseconds(500);
  }
  out.retry_after = retry_after(header(headers, "Retry-After"), now);
  if (read_structured(headers, out)) return out;
  for (const char* prefix : {"ratelimit-", "x-ratelimit-", "x-rate-limit-"}) {
    if (read_three(headers, prefix, now, out)) break;
  }
  return out;
}

}  // namespace freshet
