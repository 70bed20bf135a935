// AdaptiveRate, in part: a limit that counts calls in fixed windows, as of a minute each, and sends no headers. This
// learns when its windows end, and how many calls each allows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "functions/queue/policy/adaptive_rate.h"

namespace freshet {

namespace {

constexpr double kTwice = 2.2;        // The most that the rate grows at the end of a window whose end is known.
constexpr double kSprint = 16;        // The same if the quota is known to have risen, and
constexpr double kSprintAt = 0.85;    // the share of the window at which that growth begins.
constexpr double kNearEdge = 0.06;    // The last part of a window, as a share of it. If all calls are refused in it,
constexpr double kNearProbe = 0.008;  // this is the longest time between two of them, also as a share.
constexpr seconds kLongRun{15};       // A shorter run of refusals may come from a sliding window.

constexpr double kRoundLengths[] = {30, 60, 120, 300, 600, 900, 1800, 3600};

// The round length that is about as long as the measured one. Most limits have windows of such a length.
double rounded_window(double length) {
  constexpr double kAbout = 0.05;
  for (const double round : kRoundLengths) {
    if (std::abs(length - round) < kAbout * round) return round;
  }
  return length;
}

double next_round_length(double least) {
  for (const double round : kRoundLengths) {
    if (round >= least) return round;
  }
  return least;
}

}  // namespace

// The end of the window is known so well that calls beyond the quota that are accepted before it show that the quota
// has risen. The rate grows quickly then, as there is little time.
bool AdaptiveRate::knows_edge() const {
  constexpr double kWell = 0.012;
  return window_ > 0 && edge_within_ < kWell * window_;
}
double AdaptiveRate::most_growth() const {
  if (sprints_) return kSprint;
  return knows_edge() ? kTwice : kStage;
}

// True if the next window may have begun. A sprint must not go on in it: it would use it up.
bool AdaptiveRate::may_be_next_window(BootTime now) const {
  return sprints_ && in_seconds(now - edge_at_) > window_ - edge_within_;
}

// The least steepness (kSteep) of growth from now to the end of the window. 0 if the end or the quota is not known
// well.
double AdaptiveRate::steepness_before_edge(BootTime now) const {
  if (!knows_edge() || !quota_known_) return 0;
  const double left = std::max(window_ - in_seconds(now - edge_at_) - edge_within_, 0.005 * window_);
  return std::log(most_growth()) / (left * left);
}

// The most seconds until the next call while everything is refused. Calls are frequent near the end of a window, so
// that its end is learnt well. A length that is not known is taken to be a round one. Empty: no end is expected.
std::optional<double> AdaptiveRate::longest_probe_near_edge(BootTime now) const {
  if (edge_at_ == BootTime{} || (window_ == 0 && now - run_at_ < kLongRun)) return std::nullopt;
  const double passed = in_seconds(now - edge_at_);
  const double length = window_ > 0 ? window_ : next_round_length(passed / (1 + kNearEdge));
  if (passed > (1 + kNearEdge) * length) return std::nullopt;
  const double first = length - std::max(kNearEdge * length, edge_within_ + 2 * kNearProbe * length);
  return std::max(first - passed, kNearProbe * length);
}

// True if the window that was taken to have begun has refused nearly everything since: then it begins only now. It
// happens when a call whose refusal is still under way is taken for an accepted one.
bool AdaptiveRate::edge_was_early(BootTime at) const {
  constexpr double kLittle = 0.1;
  return window_ > 0 && edge_before_ < 0 && in_seconds(at - edge_at_) < kNearEdge * window_ &&
         edge_units_ < kLittle * quota_;
}

// The latest time at which the window is known not to have ended. Retry-After is rounded up to whole seconds, so it
// ended in the last second of the pause.
BootTime AdaptiveRate::last_refusal() const {
  return asked_long_ ? std::max(counted_at_, paused_until_ - seconds(1)) : counted_at_;
}

// A long run of refusals ends where a window of a minute or so does. From one such end to the next, what was accepted
// is what the window allows. From then on, that quota is spread over the window, and the rate grows when it is used up.
// After a run that may have been an outage, the same time must pass between two ends a second time. Several short runs
// in between come from a bucket or a sliding window.
void AdaptiveRate::meet_edge(BootTime at, nanoseconds run, bool sure) {
  constexpr double kLeastWindow = 20, kMostWindow = 4000, kLate = 0.15, kMostOfIt = 0.8;
  constexpr uint32_t kMostShortRuns = 5;
  const BootTime refused_at = last_refusal();
  if (edge_was_early(at)) {
    note_edge(at, refused_at, false);
    edge_units_ = 1;
    return;
  }
  double length = in_seconds(at - edge_at_);
  double units = edge_units_;
  // The window was believed to have begun when its time came, but it begins only now.
  if (window_ > 0 && edge_before_ >= 0 && length < kLate * window_) {
    length += window_;
    units += edge_before_;
  }
  // Nothing was accepted in the whole window: there was an outage, or windows are longer.
  if (window_ > 0 && run_at_ < edge_at_ && in_seconds(run) > kMostOfIt * window_) {
    if (edge_proven_) return;
    window_ = 0;
    length = in_seconds(at - free_at_);
    units = free_units_;
  }
  const bool near = window_ > 0 && length > 0.9 * window_;
  const bool longer = run >= seconds(3) && sure;
  if (!near && !longer) {
    window_ = 0;
    short_runs_ += run >= kRealRun ? 1 : 0;
    return;
  }
  const bool again = std::abs(length - edge_length_) < 0.1 * length;
  edge_length_ = length;
  const bool alone = std::exchange(short_runs_, 0) <= kMostShortRuns || near;
  const bool fits = alone && edge_at_ != BootTime{} && length > kLeastWindow && length < kMostWindow &&
                    (run <= kOutage || near || again);
  window_ = fits ? rounded_window(near ? (window_ + length) / 2 : length) : window_used_at_once(at, refused_at);
  quota_ = (fits ? units : free_units_) - 1;
  const bool knew = knows_edge();
  const bool began_with_edge = edge_before_ < 0;
  note_edge(at, refused_at, near);
  edge_proven_ = near;
  quota_known_ = (knew || began_with_edge) && knows_edge();
  edge_units_ = 1;
  edge_before_ = -1;
  spread_ = kSpread;
  sprints_ = false;
}

// The length of a window whose whole quota was used at once; 0 if it is not known. One long run of refusals shows it if
// only one round length fits. The beginning of the first window is not known, so a short first run shows nothing. Once
// a limit was confirmed, such a run is more likely an outage.
double AdaptiveRate::window_used_at_once(BootTime at, BootTime refused_at) const {
  constexpr double kMostDoubt = 1.4;  // Two round lengths are farther apart.
  constexpr double kLeastFirst = 40;
  const double least = in_seconds(refused_at - run_at_);
  const double most = in_seconds(at - free_at_);
  const double length = next_round_length(least);
  const bool fits = top_ == 0 && length <= most && most <= kMostDoubt * least && at - run_at_ <= kOutage;
  return fits && (!first_run_ || length > kLeastFirst) ? length : 0;
}

void AdaptiveRate::note_real_run(BootTime end) {
  free_at_ = end;
  free_units_ = 1;
  first_run_ = false;
}

// The window began between `refused_at` and `at`. `again`: its length was known before, so that it must also have begun
// a whole number of windows after the last edge. Both together narrow the time down.
void AdaptiveRate::note_edge(BootTime at, BootTime refused_at, bool again) {
  const double passed = in_seconds(at - edge_at_);
  const BootTime expected = edge_at_ + of_seconds(std::round(passed / std::max(window_, 1.0)) * window_);
  const BootTime latest = std::min(at, expected);
  const BootTime earliest = std::max(refused_at, expected - of_seconds(edge_within_));
  const bool agrees = again && window_ > 0 && latest >= earliest;
  edge_at_ = agrees ? latest : at;
  edge_within_ = in_seconds(edge_at_ - (agrees ? earliest : refused_at));
}

// A window is over, and nothing was refused at its end. Its quota is at least what was accepted in it.
// - The quota is known to have risen, but not how far. The next window first uses what is certain and grows fast at its
//   end. If the quota is used up there, only the last seconds are lost.
// - The rate has grown far, and the edge is not known well: the quota is believed to be larger by the same factor.
// - A little more was accepted, but the next window may already have begun. The next one then uses the quota earlier,
// so
//   that its growth begins in time.
void AdaptiveRate::pass_edge() {
  constexpr double kFar = 1.3, kEarlier = 0.07, kEarliest = 0.5;
  edge_at_ += of_seconds(window_);
  edge_before_ = std::exchange(edge_units_, 0);
  const bool grew = std::exchange(growing_, false);
  const double grown = limit_ * growth(grown_, steepness_, most_growth());
  sprints_ = grew && quota_known_ && knows_edge() && edge_before_ - quota_ > 1.2 * grown * edge_within_ + 2;
  if (!grew) return;
  const bool far = grown > kFar * quota_ / window_ && !knows_edge();
  quota_ = std::max({quota_, edge_before_, far ? grown * window_ : 0.0});
  if (far || sprints_) limit_ = std::clamp(quota_ / window_, least_, most_);
  spread_ = sprints_ ? kSprintAt : far ? kSpread : std::max(spread_ - kEarlier, kEarliest);
}

}  // namespace freshet
