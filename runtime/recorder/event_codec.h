// The compact form of recorded events: 5 to 8 bytes for a start or an end, about 12 and the names for an arrival. Each
// event is written as the difference to the one before it, so a run of events is read from its beginning. In memory
// only: no file has this form. Values; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "runtime/recorder/recorded_event.h"

namespace freshet {

// Longer names of groups and keys are cut to this length.
inline constexpr size_t kMostNameBytes = 256;
// The most bytes of an event without names: first without the properties of a task, then with them.
inline constexpr size_t kMostPlainBytes = 48;
inline constexpr size_t kMostAboutBytes = 128;
// The most bytes of an event with these properties.
inline size_t most_bytes(const RecordedTask& about) {
  return kMostAboutBytes + std::min(about.group.size(), kMostNameBytes) + std::min(about.key.size(), kMostNameBytes);
}

// The previous event, to which the next one is the difference. Writer and reader begin with the time at which the run
// begins.
struct CodecPlace {
  int64_t at_ms = 0;  // Boot time.
  uint64_t task = 0;
};

// The flags of a move.
enum MoveFlag : unsigned {
  kMoveAbout = 1,
  kMovePulled = 2,
  kMoveGivenBack = 4,
  kMoveByTtl = 8,
  kMoveReplaced = 16,
  kMoveCost = 32,
  kMoveBecauseShift = 6,  // The two highest bits are the ShedBecause.
};

// The properties of a task that follow, in the order of the bits.
enum AboutFlag : unsigned {
  kAboutDue = 1,
  kAboutDueByTtl = 2,
  kAboutGroup = 4,
  kAboutKey = 8,
  kAboutPriority = 16,
  kAboutAge = 32,
  kAboutDelay = 64,
  kAboutReplaces = 128,
  kAboutMaxAttempts = 256,
  kAboutCost = 512,
};

inline char* put_number(char* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
  *out++ = static_cast<char>(value);
  return out;
}

// Makes a number small if its absolute value is small, so that it takes few bytes.
inline uint64_t folded(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

// These functions write an event at `out`, where enough bytes are free, and return its end. If the event is earlier
// than the last one, it gets the time of the last one.
//
// Writes a start or an end, as most events are. All other moves begin like this.
inline char* encode_plain(char* out, CodecPlace& place, int64_t at_ms, TaskStage from, TaskStage to, unsigned flags,
                          uint64_t task) {
  const int64_t now = std::max(at_ms, place.at_ms);
  *out++ = static_cast<char>(10 * static_cast<unsigned>(from) + static_cast<unsigned>(to));
  out = put_number(out, static_cast<uint64_t>(now - place.at_ms));
  place.at_ms = now;
  out = put_number(out, folded(static_cast<int64_t>(task - place.task)));
  place.task = task;
  *out++ = static_cast<char>(flags);
  return out;
}
// Writes the arrival of a task that has no properties but RecordedTask::due_in and due_by_ttl.
inline char* encode_arrival(char* out, CodecPlace& place, int64_t at_ms, TaskStage to, uint64_t task,
                            std::optional<int64_t> due_ms, bool due_by_ttl) {
  out = encode_plain(out, place, at_ms, TaskStage::kNone, to, kMoveAbout, task);
  *out++ = static_cast<char>((due_ms ? kAboutDue : 0u) | (due_by_ttl ? kAboutDueByTtl : 0u));
  return due_ms ? put_number(out, folded(*due_ms)) : out;
}
// `about` describes the task and may be null. It is used instead of RecordedMove::about.
char* encode(char* out, CodecPlace& place, int64_t at_ms, const RecordedMove& move, const RecordedTask* about);
char* encode(char* out, CodecPlace& place, int64_t at_ms, const RecordedLimits& limits);
char* encode(char* out, CodecPlace& place, int64_t at_ms, const RecordedCount& count);
char* encode_step(char* out, CodecPlace& place, int64_t at_ms, milliseconds step);

// Reads the event at the beginning of `in`, which is not empty, and removes it. Views into those bytes.
RecordedEvent decode(std::string_view& in, CodecPlace& place);

}  // namespace freshet
