#include "base/durations.h"

#include <algorithm>
#include <bit>

namespace freshet {

void DurationCounts::add(std::chrono::nanoseconds d) {
  const auto micros = static_cast<uint64_t>(std::max<int64_t>(0, d / std::chrono::microseconds(1)));
  ++buckets[std::min<size_t>(std::bit_width(micros), kBuckets - 1)];
  ++count;
  sum += d;
  max = std::max(max, d);
}

}  // namespace freshet
