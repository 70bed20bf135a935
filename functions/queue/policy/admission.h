// Decides if a queue has room for another task, and if not, gives the reason and the time to retry. Pure state with an
// explicit now.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "functions/settings.h"

namespace freshet {

// How fast tasks, or their bytes, leave the queue, over the last ten seconds or so.
class DrainRate {
 public:
  void left(uint64_t amount, BootTime now) {
    roll(now);
    counts_[static_cast<size_t>(second_) % kSeconds] += amount;
  }
  // The rate per second; 0 if nothing has left.
  double rate(BootTime now) {
    roll(now);
    uint64_t sum = 0;
    for (const uint64_t count : counts_) sum += count;
    const int64_t seen = std::clamp<int64_t>(second_ - first_ + 1, 1, kSeconds);
    return static_cast<double>(sum) / static_cast<double>(seen);
  }

 private:
  static constexpr int64_t kSeconds = 10;
  void roll(BootTime now) {
    const int64_t second = std::chrono::floor<seconds>(now.time_since_epoch()).count();
    if (first_ < 0) first_ = second_ = second;
    if (second - second_ >= kSeconds) counts_.fill(0), second_ = second;
    while (second_ < second) counts_[static_cast<size_t>(++second_) % kSeconds] = 0;
  }

  std::array<uint64_t, kSeconds> counts_{};
  int64_t first_ = -1;
  int64_t second_ = -1;
};

// Tasks, and their stored size in bytes.
struct TaskRoom {
  uint64_t tasks = 0;
  uint64_t bytes = 0;
};

// Tasks and bytes that leave the queue per second.
struct DrainRates {
  double tasks = 0;
  double bytes = 0;
};

struct Refusal {
  std::string_view reason;  // "max-waiting", "max-waiting-bytes".
  milliseconds after;       // When there should be room: from 100 ms to a minute.
};

// The part of a bound that tasks of that priority may use: critical ones all of it, others leave the reserved share
// free.
inline uint64_t usable(uint64_t bound, const AdmissionSettings& settings, int priority) {
  if (priority >= settings.critical_priority) return bound;
  // Corrects the rounding of doubles: of 1000 with 0.7 reserved, 300 are usable, not 301.
  const double share = static_cast<double>(bound) * (1 - settings.reserved_share);
  return static_cast<uint64_t>(std::ceil(share * (1 - 1e-12)));
}

// The refusal if there is no room for `more` beside `waiting`. If both bounds are exceeded, it is for the one that has
// room again later, at the rate at which tasks leave. Empty: there is room.
inline std::optional<Refusal> refused_for(const AdmissionSettings& settings, int priority, TaskRoom waiting,
                                          TaskRoom more, DrainRates rates) {
  std::optional<Refusal> out;
  const auto look = [&](const char* reason, uint64_t bound, uint64_t there, uint64_t added, double rate) {
    if (bound == 0 || added == 0) return;
    const uint64_t room = usable(bound, settings, priority);
    if (there + added <= room) return;
    constexpr double kLongest = 60'000;
    const double over = static_cast<double>(there + added - room);
    const double wait = rate > 0 ? over / rate * 1000 : kLongest;
    const milliseconds after(static_cast<int64_t>(std::clamp(wait, 100.0, kLongest)));
    if (!out || after > out->after) out = Refusal{reason, after};
  };
  look("max-waiting", settings.max_waiting, waiting.tasks, more.tasks, rates.tasks);
  look("max-waiting-bytes", settings.max_waiting_bytes, waiting.bytes, more.bytes, rates.bytes);
  return out;
}

}  // namespace freshet
