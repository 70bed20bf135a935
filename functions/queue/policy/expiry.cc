#include "functions/queue/policy/expiry.h"

#include <fmt/format.h>

#include <chrono>

#include "base/log.h"
#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/task_life.h"

namespace freshet {

namespace {
// 10^11 s is the year 5138, which nobody means. So larger values are epoch milliseconds (of 1973 and later).
constexpr int64_t kOnlyMilliseconds = 100'000'000'000;
// Earlier deadlines are from before 2001. Most likely they are in seconds, which as milliseconds are in January 1970.
constexpr int64_t kEarliest = 1'000'000'000'000;
constexpr int64_t kEarliestSeconds = kEarliest / 1000;

std::string date_of(int64_t ms) {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(WallTime(milliseconds(ms))));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}
}  // namespace

std::string early_deadline(int64_t deadline_ms) {
  if (deadline_ms <= 0 || deadline_ms >= kEarliest) return {};
  std::string out =
      fmt::format("its deadline is {}, which is {} in milliseconds since 1970", deadline_ms, date_of(deadline_ms));
  if (deadline_ms < kEarliestSeconds) return out + ": write the time until which it is worth starting, or leave it out";
  return out + fmt::format("; if it is in seconds, which would be {}, write {}", date_of(deadline_ms * 1000),
                           deadline_ms * 1000);
}

std::string passed_deadline(int64_t deadline_ms, int64_t now_ms) {
  const std::string clock =
      fmt::format("; the daemon's clock shows {} ({})", now_ms, iso8601(WallTime(milliseconds(now_ms))));
  if (const auto early = early_deadline(deadline_ms); !early.empty())
    return "the task would be too late: " + early + clock;
  return fmt::format("the task would be too late: its deadline, {} ({}), passed {} ago", deadline_ms,
                     iso8601(WallTime(milliseconds(deadline_ms))), in_words(milliseconds(now_ms - deadline_ms))) +
         clock + "; deadlineMs is counted from there, whatever the time is at yours";
}

std::optional<TtlEnd> ttl_end(const ItemRef& task, bool ttl_in_milliseconds) {
  const int64_t ttl = ttl_of(task);
  const bool is_ms = ttl >= kOnlyMilliseconds;
  if (ttl <= 0 || (is_ms && !ttl_in_milliseconds)) return std::nullopt;
  return TtlEnd{WallTime(milliseconds(is_ms ? ttl : ttl * 1000)), is_ms};
}

std::string_view expired(const TaskEnds& ends, WallTime now, nanoseconds margin) {
  if (ends.ttl && now >= *ends.ttl) return "ttl";
  if (!ends.deadline) return {};
  if (now + (FRESHET_PLANTED("shed-before-its-deadline") ? seconds(3) : seconds(0)) >= *ends.deadline)
    return "deadline";
  // Whole milliseconds come first, because a time that is centuries ahead overflows nanoseconds.
  const milliseconds left = *ends.deadline - now;
  constexpr std::chrono::microseconds kHalf{500};
  const bool near = left <= std::chrono::ceil<milliseconds>(margin) + milliseconds(1);
  return margin.count() > 0 && near && left - kHalf < margin ? "deadline-margin" : std::string_view();
}

std::string_view expired(const ItemRef& task, WallTime now, bool ttl_in_milliseconds, nanoseconds margin) {
  TaskEnds ends;
  if (auto end = ttl_end(task, ttl_in_milliseconds)) ends.ttl = end->at;
  const int64_t deadline = int_of(task, attribute::kDeadline, 0);
  if (deadline > 0) ends.deadline = WallTime(milliseconds(deadline));
  return expired(ends, now, margin);
}

}  // namespace freshet
