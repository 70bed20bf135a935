#include "app/cli/deadline.h"

#include <charconv>
#include <string>

#include "base/duration_text.h"
#include "functions/priority/timestamp.h"

namespace freshet::cli {
namespace {

constexpr int64_t kLastMs = 253'402'300'799'999;    // The last millisecond of the year 9999.
constexpr int64_t kEarliestMs = 1'000'000'000'000;  // In 2001: less is no time that anybody means.
constexpr std::string_view kDigits = "0123456789";
constexpr milliseconds kLongest{int64_t{366} * 24 * 3600 * 1000};

tl::unexpected<Error> wrong(std::string_view text, const std::string& why) {
  return invalid("'" + std::string(text) + "' " + why);
}

Result<Deadline> of_number(std::string_view text) {
  int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc() || ms > kLastMs) return wrong(text, "is later than the year 9999, in milliseconds");
  if (ms >= kEarliestMs) return Deadline{ms, 0};
  const std::string number(text);
  return wrong(text, "has no unit: write " + number + "s for seconds from now or " + number +
                         "ms for milliseconds from now (a number alone is the time in milliseconds since 1970)");
}

Result<Deadline> of_time(std::string_view text) {
  constexpr int64_t kNanoseconds = 1'000'000;
  if (const auto ns = priority::parse_timestamp(text)) return Deadline{*ns / kNanoseconds, 0};
  const std::string in_utc = std::string(text) + "Z";
  if (priority::parse_timestamp(in_utc)) {
    return wrong(text, "has no zone: write " + in_utc + " for UTC, or " + std::string(text) + "+02:00");
  }
  return wrong(text, "is no time: write it like 2026-12-01T10:00Z or 2026-12-01T10:00:30+01:00");
}

}  // namespace

Result<Deadline> parse_deadline(std::string_view text) {
  if (!text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos) return of_number(text);
  // A duration has neither.
  if (text.find_first_of("-T:") != std::string_view::npos) return of_time(text);
  const auto duration = parse_duration(text, milliseconds(1), kLongest);
  if (!duration) return invalid(duration.error().message + "; or the time until when, like 2026-12-01T10:00Z");
  return Deadline{0, duration->count()};
}

Check deadline() {
  return {[](const std::string& text) {
            const auto read = parse_deadline(text);
            return read ? std::string() : read.error().message;
          },
          {}};  // The option's description says this.
}

}  // namespace freshet::cli
