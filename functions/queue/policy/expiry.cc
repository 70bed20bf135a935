#include "functions/queue/policy/expiry.h"

#include "functions/queue/attributes.h"

namespace freshet {

namespace {
// 10^11 s is the year 5138: nobody means that, it is epoch milliseconds (of 1973 and later).
constexpr int64_t kOnlyMilliseconds = 100'000'000'000;
}  // namespace

std::optional<TtlEnd> ttl_end(const ItemRef& task, bool ttl_in_milliseconds) {
  int64_t ttl = int_of(task, attribute::kTtl, 0);
  bool is_ms = ttl >= kOnlyMilliseconds;
  if (ttl <= 0 || (is_ms && !ttl_in_milliseconds)) return std::nullopt;
  return TtlEnd{WallTime(milliseconds(is_ms ? ttl : ttl * 1000)), is_ms};
}

std::string_view expired(const TaskEnds& ends, WallTime now, nanoseconds margin) {
  if (ends.ttl && now >= *ends.ttl) return "ttl";
  if (!ends.deadline) return {};
  if (now >= *ends.deadline) return "deadline";
  // In whole milliseconds first: what is centuries ahead is more nanoseconds than there are.
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
