// The durations of the last calls, and their 95th percentile, after which it pays to repeat a call. A value type, one
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace freshet::ordered {

class LatencyWindow {
 public:
  // Keeps the last `size` calls, and gives no percentile before there are `least` of them. 1 <= least <= size.
  LatencyWindow(size_t size, size_t least) : size_(size), least_(least) {}

  void add(nanoseconds took);
  // The shortest time within which 95 of 100 of those calls were answered.
  std::optional<nanoseconds> p95() const;

 private:
  static constexpr size_t kRefresh = 16;  // The percentile is computed again after this many calls.

  const size_t size_;
  const size_t least_;
  std::vector<nanoseconds> took_;  // A ring once it is full.
  size_t next_ = 0;
  mutable std::optional<nanoseconds> p95_;
  mutable size_t stale_ = kRefresh;  // Calls since p95_ was computed.
};

}  // namespace freshet::ordered
