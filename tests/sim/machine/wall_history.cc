#include "tests/sim/machine/wall_history.h"

#include <algorithm>

namespace freshet::sim {

namespace {
constexpr seconds kFar{61};       // A longer step forward is not believed at once,
constexpr seconds kDoubtful{55};  // but for sure not within that time,
constexpr seconds kCalm{65};      // if only shorter ones were made for that long before.
}  // namespace

bool WallHistory::is_doubted(BootTime from, BootTime to) const {
  if (segments_.size() < 2 || life_began_ >= from) return false;
  const auto step = [this](size_t i) { return segments_[i].offset - segments_[i - 1].offset; };
  size_t i = segments_.size() - 1;
  if (segments_[i].since <= from || to >= segments_[i].since + kDoubtful) return false;
  // A daemon may see shorter ones only together with the long one.
  milliseconds least = kFar;
  const milliseconds far = step(i);
  for (--i; i > 0 && segments_[i].since + kCalm >= from; --i) {
    if (std::chrono::abs(step(i)) + seconds(2) >= kFar) return false;
    least += std::chrono::abs(step(i));
  }
  return far > least;
}

WallTime WallHistory::earliest(BootTime from, BootTime to) const {
  WallTime first = WallTime::max();
  for (size_t i = segments_.size(); i-- > 0;) {
    const Segment& each = segments_[i];
    if (each.since <= to) first = std::min(first, wall(std::max(each.since, from), each.offset));
    if (each.since < from) break;
  }
  return first;
}

WallTime WallHistory::latest(BootTime from, BootTime to) const {
  const size_t count = segments_.size() - (is_doubted(from, to) ? 1 : 0);
  WallTime last = WallTime::min();
  BootTime end = to;
  for (size_t i = count; i-- > 0;) {
    const Segment& each = segments_[i];
    if (each.since <= to) last = std::max(last, wall(std::min(end, to), each.offset));
    end = each.since;
    if (each.since < from) break;
  }
  return last;
}

}  // namespace freshet::sim
