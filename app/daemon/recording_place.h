// The position at which the next request continues a recording: the `place` of GET /queues/NAME/recording. A value
// type; pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "runtime/recorder/recording_book.h"

namespace freshet {

struct RecordingPlace {
  // The parts of a recording, in their order.
  enum class Part : uint8_t { kHead, kPolicies, kPauses, kEvents, kPending, kDelayed, kSince };
  static constexpr std::array<std::string_view, 7> kPartNames = {"head",    "policies", "pauses", "events",
                                                                 "PENDING", "DELAYED",  "since"};
  static constexpr int64_t kFarthestMs = int64_t{1} << 42;  // The year 2109. Nanoseconds hold twice that.

  // The first answer sets the bounds and the clock; they stay the same in all later ones.
  int64_t run_ms = 0;    // When the recorder began (boot clock). Places of another recorder are refused.
  int64_t ahead_ms = 0;  // The wall clock minus the boot clock.
  int64_t from_ms = 0;   // Epoch milliseconds, as are `to_ms`'s.
  int64_t to_ms = 0;
  Part part = Part::kHead;
  uint64_t number = 0;                   // The next policy or pause, how many waiting tasks have been sent, or, of
                                         // the last part, until which boot time it goes, in milliseconds.
  QueueRecording::Position events = {};  // The next event.
  std::string cursor = {};               // The position at which the list of waiting tasks continues.

  std::string_view part_name() const { return kPartNames[static_cast<size_t>(part)]; }
  WallTime wall(BootTime at) const;
  BootTime boot(int64_t wall_ms) const { return BootTime(milliseconds(wall_ms - ahead_ms)); }

  std::string text() const;
  // Empty if the text is not one that text() writes.
  static std::optional<RecordingPlace> read(std::string_view text);
};

}  // namespace freshet
