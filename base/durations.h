#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace freshet {

// Durations by powers of two: bucket i counts those below 2^i microseconds (and not below 2^(i-1)); the last one all
// that are longer. A value type.
struct DurationCounts {
  static constexpr size_t kBuckets = 24;
  std::array<uint64_t, kBuckets> buckets{};
  uint64_t count = 0;
  std::chrono::nanoseconds sum{0};
  std::chrono::nanoseconds max{0};  // Since the start or the last reset_max().
  void add(std::chrono::nanoseconds d);
};

}  // namespace freshet
