#include "functions/runners/http_runner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "tables/value/json.h"
#include "tables/value/text.h"

namespace freshet {

namespace {

constexpr size_t kMaxResultBytes = 64u << 10;
constexpr size_t kMaxErrorBytes = 1024;

std::string target_of(const std::string& url) {
  auto host = url.find("//") + 2;
  auto path = url.find('/', host);
  return path == std::string::npos ? "/" : url.substr(path);
}

bool number_at(std::string_view text, size_t from, size_t length, int& out) {
  if (from + length > text.size()) return false;
  auto digits = text.substr(from, length);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return error == std::errc() && end == digits.data() + digits.size();
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

}  // namespace

std::optional<milliseconds> retry_after(std::string_view text, WallTime now) {
  constexpr int64_t kLongest = 30 * 24 * 3600;
  int64_t wait = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wait);
  if (end == text.data() + text.size() && !text.starts_with('-')) {
    if (error == std::errc()) return milliseconds(std::min(wait, kLongest) * 1000);
    if (error == std::errc::result_out_of_range) return milliseconds(kLongest * 1000);  // Seconds, beyond any number.
  }
  auto date = http_date(text);
  if (!date) return {};
  return std::clamp<milliseconds>(*date - now, milliseconds(0), milliseconds(kLongest * 1000));
}

std::string clean_text(std::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    auto length = utf8_sequence(text.substr(at));
    std::string_view next = length > 0 ? text.substr(at, length) : "\xEF\xBF\xBD";
    if (out.size() + next.size() > max_bytes) break;
    out += next;
    at += std::max<size_t>(length, 1);
  }
  return out;
}

Value kept_result(std::string_view text, size_t max_bytes) {
  if (text.empty()) return Value();
  if (text.size() <= max_bytes) {
    auto value = parse_plain_json(text);
    if (value && normalize(*value, "result")) return std::move(*value);
  }
  return Value(clean_text(text, max_bytes));
}

HttpRunner::HttpRunner(const RunnerSettings& settings, Services& services)
    : settings_(settings), services_(services), target_(target_of(settings.url)) {}

Async<RunResult> HttpRunner::run(ItemRef task, std::string lease) {
  HttpRequest request;
  request.method = "POST";
  request.target = target_;
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = task_json(task, lease);
  auto answer = co_await services_.http.send(settings_.url, std::move(request), settings_.timeout);
  RunResult out;
  if (!answer) {
    out.kind = was_never_sent(answer.error()) ? RunResult::Kind::kBounced : RunResult::Kind::kFailure;
    if (out.kind == RunResult::Kind::kBounced) out.delay = settings_.retry_after;
    out.error = std::move(answer.error().message);
    co_return out;
  }
  if (answer->status >= 200 && answer->status < 300) {
    out.result = kept_result(answer->body, kMaxResultBytes);
    co_return out;
  }
  if (answer->status == 429 || answer->status == 503) {
    out.kind = RunResult::Kind::kBounced;
    out.reason = "the handler answered " + std::to_string(answer->status);
    out.delay = retry_after(header(answer->headers, "Retry-After"), services_.scheduler.clock().wall());
    out.leave_alone = out.delay;
    if (!out.delay) out.delay = settings_.retry_after;
    co_return out;
  }
  out.kind = RunResult::Kind::kFailure;
  out.error = "the handler answered " + std::to_string(answer->status);
  if (!answer->body.empty()) out.error += ": " + clean_text(answer->body, kMaxErrorBytes);
  co_return out;
}

}  // namespace freshet
