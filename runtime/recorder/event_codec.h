// The compact form of recorded events: 5 to 8 bytes for a start or an end, about 12 and the names for an arrival. Each
// event is written as the difference to the one before it, so a run of events is read from its beginning. In memory
// only: no file has this form. Values; any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/recorder/recorded_event.h"

namespace freshet {

// The most bytes that one event takes.
inline constexpr size_t kMostEventBytes = 640;
// Longer names of groups and keys are cut to this.
inline constexpr size_t kMostNameBytes = 256;

// The event before, which the next one is the difference to. Writer and reader begin with the time at which the run
// begins.
struct CodecPlace {
  int64_t at_ms = 0;  // Boot time.
  uint64_t task = 0;
};

// Each returns the end of the event that it wrote at `out`, where kMostEventBytes are free. An event of a time before
// the last one gets that time.
char* encode(char* out, CodecPlace& place, BootTime at, const RecordedMove& move);
char* encode(char* out, CodecPlace& place, BootTime at, const RecordedLimits& limits);
char* encode(char* out, CodecPlace& place, BootTime at, const RecordedCount& count);
char* encode_step(char* out, CodecPlace& place, BootTime at, milliseconds step);

// Reads the event at the beginning of `in`, which is not empty, and removes it. Views into those bytes.
RecordedEvent decode(std::string_view& in, CodecPlace& place);

}  // namespace freshet
