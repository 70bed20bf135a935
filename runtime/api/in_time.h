// Counts how a queue's tasks ended, and their attempts: since the start, or over the last minute.
#pragma once

#include <cstdint>
#include <optional>

namespace freshet {

struct InTimeCounts {
  uint64_t in_time = 0;      // SUCCESS by the deadline, or without one.
  uint64_t no_deadline = 0;  // Those of `in_time` without a deadline.
  uint64_t late = 0;         // SUCCESS after the deadline.
  uint64_t failed = 0;       // FAILURE or DEAD.
  uint64_t shed = 0;         // SHED, or removed by their TTL while they waited.
  uint64_t refused = 0;      // Creations that the queue refused. Those tasks never existed.
  uint64_t calls = 0;        // Attempts that began: calls of the handler, and takes by workers.
  uint64_t wasted = 0;       // Attempts that ended without a result in time.

  uint64_t ended() const { return in_time + late + failed + shed; }
  // From 0 to 1. Empty if no task has ended.
  std::optional<double> share() const {
    if (ended() == 0) return std::nullopt;
    return static_cast<double>(in_time) / static_cast<double>(ended());
  }
  // The counts since `earlier`, which are earlier counts of the same queue.
  InTimeCounts operator-(const InTimeCounts& earlier) const {
    return {
        in_time - earlier.in_time, no_deadline - earlier.no_deadline, late - earlier.late,   failed - earlier.failed,
        shed - earlier.shed,       refused - earlier.refused,         calls - earlier.calls, wasted - earlier.wasted};
  }
};

struct InTimeStats {
  InTimeCounts last_minute;
  InTimeCounts since_start;  // Since the daemon started.
  InTimeCounts put_back;     // Ends of `since_start` that were undone: those tasks were redriven. Only failed and shed.
};

}  // namespace freshet
