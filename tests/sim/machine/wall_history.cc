#include "tests/sim/machine/wall_history.h"

#include <algorithm>

namespace freshet::sim {

namespace {
constexpr seconds kFarStep{61};     // A longer step forward is not believed at once,
constexpr seconds kDisbelief{55};   // but for sure not within that time,
constexpr seconds kCalmBefore{65};  // if only shorter ones were made for that long before.
}  // namespace

bool WallHistory::is_doubted(BootTime from, BootTime to) const {
  if (segments_.size() < 2 || life_began_ >= from) return false;
  const auto step = [this](size_t i) { return segments_[i].offset - segments_[i - 1].offset; };
  size_t i = segments_.size() - 1;
  if (segments_[i].since <= from || to >= segments_[i].since + kDisbelief) return false;
  // A daemon may see shorter ones only together with the long one.
  milliseconds least = kFarStep;
  const milliseconds far = step(i);
  for (--i; i > 0 && segments_[i].since + kCalmBefore >= from; --i) {
    if (std::chrono::abs(step(i)) + seconds(2) >= kFarStep) return false;
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
  const bool doubted = is_doubted(from, to);
  WallTime last = WallTime::min();
  BootTime end = to;
  for (size_t i = segments_.size() - (doubted ? 1 : 0); i-- > 0;) {
    const Segment& each = segments_[i];
    // A daemon that did not look in between believes one of before.
    if (each.since <= to) last = std::max(last, wall(doubted ? to : std::min(end, to), each.offset));
    end = each.since;
    if (each.since + (doubted ? kCalmBefore : seconds(0)) < from) break;
  }
  return last;
}

}  // namespace freshet::sim
