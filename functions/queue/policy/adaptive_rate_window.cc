// AdaptiveRate, in part: a limit that counts calls in fixed windows, as of a minute each, and sends no headers. This
// learns when its windows end, and how many calls each allows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "functions/queue/policy/adaptive_rate.h"

namespace freshet {

namespace {

constexpr double kTwice = 2.2;        // The most that the rate grows at the end of a window whose end is known.
constexpr double kNearEdge = 0.06;    // The last part of a window, as a share of it. If all calls are refused in it,
constexpr double kNearProbe = 0.008;  // this is the longest time between two of them, also as a share.

// The round length that is about as long as the measured one. Most limits have windows of such a length.
double rounded_window(double length) {
  constexpr double kAbout = 0.05;
  for (const double round : {30., 60., 120., 300., 600., 900., 1800., 3600.}) {
    if (std::abs(length - round) < kAbout * round) return round;
  }
  return length;
}

}  // namespace

// The end of the window is known so well that calls beyond the quota that are accepted before it show that the quota
// has risen. The rate grows quickly then, as there is little time, and to about twice the limit at most.
bool AdaptiveRate::knows_edge() const {
  constexpr double kWell = 0.012;
  return window_ > 0 && edge_within_ < kWell * window_;
}
double AdaptiveRate::most_growth() const {
  return knows_edge() ? kTwice : kStage;
}

// The least steepness (kSteep) of growth from now to the end of the window. 0 if the end or the quota is not known
// well.
double AdaptiveRate::steepness_before_edge(BootTime now) const {
  if (!knows_edge() || !quota_known_) return 0;
  const double left = std::max(window_ - in_seconds(now - edge_at_) - edge_within_, 0.005 * window_);
  return std::log(kTwice) / (left * left);
}

// The most seconds between two calls while everything is refused, near the end of a window. Empty: none ends about now.
// As long as the length is not known, it is taken to be a round one.
std::optional<double> AdaptiveRate::longest_probe_near_edge(BootTime now) const {
  if (edge_at_ == BootTime{}) return std::nullopt;
  const double passed = in_seconds(now - edge_at_);
  const double length = window_ > 0 ? window_ : rounded_window(passed);
  const bool is_near = std::abs(length - passed) < kNearEdge * length && (window_ > 0 || length != passed);
  return is_near ? std::optional(kNearProbe * passed) : std::nullopt;
}

// A long run of refusals ends where a window of a minute or so does. From one such end to the next, what was accepted
// is what the window allows. From then on it is spread over the window, and more is asked for when it is used up.
// After a run that may have been an outage, the same time has to pass between two ends for a second time.
void AdaptiveRate::meet_edge(BootTime at, nanoseconds run, bool sure) {
  constexpr double kLeastWindow = 20, kMostWindow = 4000, kLate = 0.15;
  double length = in_seconds(at - edge_at_);
  double units = edge_units_;
  // The window that was believed to have begun, as its time was over, begins only now.
  if (window_ > 0 && edge_before_ >= 0 && length < kLate * window_) {
    length += window_;
    units += edge_before_;
  }
  const bool near = window_ > 0 && length > 0.9 * window_;
  const bool longer = run >= seconds(3) && sure;
  if (!near && !longer) {
    window_ = 0;
    return;
  }
  const bool again = std::abs(length - edge_length_) < 0.1 * length;
  edge_length_ = length;
  const bool fits =
      edge_at_ != BootTime{} && length > kLeastWindow && length < kMostWindow && (run <= kOutage || near || again);
  window_ = !fits ? 0 : rounded_window(near ? (window_ + length) / 2 : length);
  quota_ = units - 1;
  // Retry-After is rounded up to whole seconds, so the window ended in the last second of the pause.
  const BootTime refused_at = asked_long_ ? std::max(counted_at_, paused_until_ - seconds(1)) : counted_at_;
  const bool knew = knows_edge();
  const bool began_with_edge = edge_before_ < 0;
  note_edge(at, refused_at, near);
  quota_known_ = (knew || began_with_edge) && knows_edge();
  edge_units_ = 1;
  edge_before_ = -1;
  spread_ = kSpread;
}

// The window began between `refused_at` and `at`. `again`: its length was known before, so that it must also have begun
// a whole number of windows after the last edge. Both together say more closely when.
void AdaptiveRate::note_edge(BootTime at, BootTime refused_at, bool again) {
  const double passed = in_seconds(at - edge_at_);
  const BootTime expected = edge_at_ + of_seconds(std::round(passed / std::max(window_, 1.0)) * window_);
  const BootTime latest = std::min(at, expected);
  const BootTime earliest = std::max(refused_at, expected - of_seconds(edge_within_));
  const bool agrees = again && window_ > 0 && latest >= earliest;
  edge_at_ = agrees ? latest : at;
  edge_within_ = in_seconds(edge_at_ - (agrees ? earliest : refused_at));
}

// A window is over, and nothing was refused at its end. If the rate has grown far, the quota is believed to be as much
// more. If it was just a little that was taken beyond it, the next window may have begun already, unless its edge is
// known well. In each case the quota is spread over the next one; after little it ends earlier, so that more is asked
// for in time: just a bit if it may be the edge that is wrong, and by far if the quota is known to have risen.
void AdaptiveRate::pass_edge() {
  constexpr double kFar = 1.3, kEarlier = 0.08, kRisen = 0.92, kEarliest = 0.5;
  edge_at_ += of_seconds(window_);
  edge_before_ = std::exchange(edge_units_, 0);
  if (!growing_) return;
  const double grown = limit_ * growth(grown_, steepness_, most_growth());
  const bool risen = quota_known_ && knows_edge() && edge_before_ - quota_ > 1.2 * grown * edge_within_ + 2;
  const bool far = grown > kFar * quota_ / window_ && (risen || !knows_edge());
  quota_ = std::max({quota_, edge_before_, far ? grown * window_ : 0.0});
  if (far) limit_ = std::clamp(quota_ / window_, least_, most_);
  growing_ = false;
  spread_ = far ? kSpread : std::max(std::min(spread_ - kEarlier, risen ? kRisen : 1), kEarliest);
}

}  // namespace freshet
