// Whether a queue takes one task more, and when to try again if not. Pure state with an explicit now.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "functions/settings.h"

namespace freshet {

// How fast tasks leave the queue (taken or shed), over the last ten seconds or so.
class DrainRate {
 public:
  void left(uint64_t tasks, BootTime now) {
    roll(now);
    counts_[static_cast<size_t>(second_) % kSeconds] += tasks;
  }
  // Tasks a second; 0 if none has left.
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

// Of `waiting` tasks the queue has a bound (MAX_WAITING); tasks of critical priority may use all of it, others leave
// the reserved share free. Empty: the task is taken. Else when there should be room, at the rate at which tasks leave:
// from 100 ms to a minute.
inline std::optional<milliseconds> refused_for(const AdmissionSettings& settings, int priority, uint64_t waiting,
                                               double drain_rate) {
  if (settings.max_waiting == 0) return std::nullopt;
  const bool critical = priority >= settings.critical_priority;
  const auto all = static_cast<double>(settings.max_waiting);
  const auto bound = static_cast<uint64_t>(critical ? all : std::ceil(all * (1 - settings.reserved_share)));
  if (waiting < bound) return std::nullopt;
  constexpr double kLongest = 60'000;
  const double over = static_cast<double>(waiting - bound + 1);
  const double wait = drain_rate > 0 ? over / drain_rate * 1000 : kLongest;
  return milliseconds(static_cast<int64_t>(std::clamp(wait, 100.0, kLongest)));
}

}  // namespace freshet
