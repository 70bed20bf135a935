#include "tests/sim/machine/wall_history.h"

#include <algorithm>

namespace freshet::sim {

namespace {
constexpr seconds kFarStep{61};     // A longer step forward is not believed at once,
constexpr seconds kDisbelief{55};   // but for sure not within that time,
constexpr seconds kCalmBefore{65};  // if only shorter ones were made for that long before.
}  // namespace

milliseconds WallHistory::ran_ahead(BootTime from, BootTime to) const {
  milliseconds sum{0};
  for (size_t i = segments_.size() - 1; i > 0 && segments_[i].since >= from; --i) {
    if (segments_[i].by_drift && segments_[i].since <= to) sum += std::max(step(i), milliseconds(0));
  }
  return sum;
}

milliseconds WallHistory::strayed(BootTime from, BootTime to) const {
  milliseconds sum{0};
  for (size_t i = segments_.size() - 1; i > 0 && segments_[i].since >= from; --i) {
    if (segments_[i].by_drift && segments_[i].since <= to) sum += std::chrono::abs(step(i));
  }
  return sum;
}

std::optional<size_t> WallHistory::doubted(BootTime from, BootTime to) const {
  if (life_began_ >= from) return std::nullopt;
  size_t last = segments_.size() - 1;
  while (last > 0 && segments_[last].by_drift) --last;
  if (last == 0) return std::nullopt;
  const BootTime stepped = segments_[last].since;
  if (stepped <= from || to >= stepped + kDisbelief) return std::nullopt;
  // A daemon may see shorter ones only together with the long one, and a drift only when it looks.
  milliseconds least = kFarStep + strayed(stepped - kLongestLook, to);
  for (size_t i = last - 1; i > 0 && segments_[i].since + kCalmBefore >= from; --i) {
    if (segments_[i].by_drift) continue;
    if (std::chrono::abs(step(i)) + seconds(2) >= kFarStep) return std::nullopt;
    least += std::chrono::abs(step(i));
  }
  if (step(last) > least) return last;
  return std::nullopt;
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
  const auto step = doubted(from, to);
  WallTime last = WallTime::min();
  BootTime end = to;
  for (size_t i = step ? *step : segments_.size(); i-- > 0;) {
    const Segment& each = segments_[i];
    // A daemon that did not look in between believes one of before.
    if (each.since <= to) last = std::max(last, wall(step ? to : std::min(end, to), each.offset));
    end = each.since;
    if (each.since + (step ? kCalmBefore : seconds(0)) < from) break;
  }
  return last;
}

WallTime WallHistory::latest_counted(BootTime at) const {
  const BootTime from = std::max<BootTime>(life_began_, at - kLongestLook - kFarStep);
  WallTime last = WallTime::min();
  for (size_t i = segments_.size(); i-- > 0;) {
    last = std::max(last, wall(at, segments_[i].offset));
    if (segments_[i].since < from) break;
  }
  return last;
}

}  // namespace freshet::sim
