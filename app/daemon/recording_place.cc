#include "app/daemon/recording_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/number_text.h"

namespace freshet {

WallTime RecordingPlace::wall(BootTime at) const {
  return WallTime(std::chrono::floor<milliseconds>(at.time_since_epoch()) + milliseconds(ahead_ms));
}

std::string RecordingPlace::text() const {
  return fmt::format("{}.{}.{}.{}.{}.{}.{}.{}.{}", run_ms, ahead_ms, from_ms, to_ms, part_name(), number, events.chunk,
                     events.event, cursor);
}

std::optional<RecordingPlace> RecordingPlace::read(std::string_view text) {
  constexpr size_t kParts = 8;  // And the cursor.
  std::vector<std::string_view> parts;
  for (size_t dot = 0; parts.size() < kParts; text.remove_prefix(dot + 1)) {
    dot = text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    parts.push_back(text.substr(0, dot));
  }
  RecordingPlace out;
  const bool numbers = read_number_in(parts[0], out.run_ms) && read_number_in(parts[1], out.ahead_ms) &&
                       read_number_in(parts[2], out.from_ms) && read_number_in(parts[3], out.to_ms) &&
                       read_number_in(parts[5], out.number) && read_number_in(parts[6], out.events.chunk) &&
                       read_number_in(parts[7], out.events.event);
  if (!numbers) return std::nullopt;
  for (const int64_t ms : {out.ahead_ms, out.from_ms, out.to_ms}) {
    if (ms < -kFarthestMs || ms > kFarthestMs) return std::nullopt;
  }
  const auto part = std::find(kPartNames.begin() + 1, kPartNames.end(), parts[4]);
  if (part == kPartNames.end()) return std::nullopt;
  out.part = static_cast<Part>(part - kPartNames.begin());
  out.cursor = text;
  return out;
}

}  // namespace freshet
