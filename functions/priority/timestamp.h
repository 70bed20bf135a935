// Timestamps of records, as text: ISO 8601 in UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace freshet::priority {

// "2026-11-21T00:08:52.709144906Z": always nine digits, so that the order of the texts is that of the times.
std::string format_timestamp(int64_t epoch_ns);

// Reads every form that java.time.OffsetDateTime writes: without seconds, with 0 to 9 digits of fraction, with Z or an
// offset. Returns nanoseconds since 1970; empty if it is not a timestamp, or not of the years 1700 to 2200.
std::optional<int64_t> parse_timestamp(std::string_view text);

}  // namespace freshet::priority
