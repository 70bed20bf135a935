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

std::string_view expired(const ItemRef& task, WallTime now, bool ttl_in_milliseconds, milliseconds margin) {
  if (auto end = ttl_end(task, ttl_in_milliseconds); end && now >= end->at) return "ttl";
  int64_t deadline = int_of(task, attribute::kDeadline, 0);
  if (deadline > 0 && epoch_ms(now) >= deadline) return "deadline";
  if (deadline > 0 && epoch_ms(now) + margin.count() > deadline) return "deadline-margin";
  return {};
}

WallTime StalenessClock::now(WallTime wall, BootTime boot) {
  nanoseconds offset = wall.time_since_epoch() - boot.time_since_epoch();
  if (!offset_) offset_ = offset;
  bool jumped = offset - *offset_ > kJump;
  if (jumped && !paused_until_) paused_until_ = boot + kPause;
  if (!jumped || boot >= *paused_until_) {
    offset_ = offset;
    paused_until_.reset();
    return wall;
  }
  return WallTime(std::chrono::floor<milliseconds>(boot.time_since_epoch() + *offset_));
}

}  // namespace freshet
