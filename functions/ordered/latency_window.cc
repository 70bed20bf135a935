#include "functions/ordered/latency_window.h"

#include <algorithm>

namespace freshet::ordered {

void LatencyWindow::add(nanoseconds took) {
  ++stale_;
  if (took_.size() < size_) {
    took_.push_back(took);
    return;
  }
  took_[next_] = took;
  next_ = (next_ + 1) % size_;
}

std::optional<nanoseconds> LatencyWindow::p95() const {
  if (took_.size() < least_) return std::nullopt;
  if (stale_ < kRefresh) return p95_;
  std::vector<nanoseconds> sorted = took_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() * 95 + 99) / 100 - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  p95_ = *at;
  stale_ = 0;
  return p95_;
}

}  // namespace freshet::ordered
