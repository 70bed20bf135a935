#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace freshet {

// Counts durations by powers of two: bucket i counts those below 2^i microseconds (and not below 2^(i-1)); the last
// bucket counts all longer ones. A value type.
struct DurationCounts {
  static constexpr size_t kBuckets = 24;
  std::array<uint64_t, kBuckets> buckets{};
  uint64_t count = 0;
  std::chrono::nanoseconds sum{0};
  std::chrono::nanoseconds max{0};  // The longest one.
  void add(std::chrono::nanoseconds d);
};

}  // namespace freshet
