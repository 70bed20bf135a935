// AdaptiveRate, in part: a limit of calls in flight instead of a rate, and the limit that the downstream reports.
#include <algorithm>
#include <cmath>
#include <utility>

#include "functions/queue/policy/adaptive_rate.h"

namespace freshet {

namespace {

constexpr int kBlame = 3;
constexpr seconds kReported{60};        // A reported limit holds for this time if answers come without it.
constexpr seconds kReportedReset{600};  // The longest time until a reset counts for once to twice this time.
constexpr int kDoubts = 8;
constexpr seconds kDoubtful{10};
constexpr seconds kSureOfWindow{2};
constexpr seconds kStillShared{60};
constexpr double kByLevel = 0.6;         // How far each unit that is left in the bucket raises the rate.
constexpr double kSlowestByLevel = 0.3;  // The least rate, as a share of the inflow.
constexpr double kBucket = 2;            // Units. A bucket that never has so many left is too small to read.
constexpr double kSpare = 3;             // Units. A bucket that has more is not emptied:
constexpr double kAimed = 0.7;           // this share of the units above kSpare stays in it,
constexpr double kMostAimed = 10;        // at most so many.
constexpr double kFills = 0.8;           // A bucket may have been full if this share of its limit would have filled it.
constexpr double kAllOurs = 0.9;         // Others use the limit while the inflow is less than this share of it.
constexpr double kLeft = 0.999;          // Each answer multiplies the most that was left by this.
constexpr double kLeastShare = 0.5;      // The least rate behind a shared bucket that is too small to read, as a share
constexpr double kMostInVain = 3;        // of the limit. It is at most so many times the units that were taken lately.

double hint_seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

bool AdaptiveRate::blames_concurrency(const Start& start, BootTime now, const LimitHints& hints) {
  // A downstream that says when to come again counts calls over time.
  if (hints.retry_after || said_ > 0) {
    if (cap_ > 0) leave_cap(now);
    return false;
  }
  if (cap_ > 0) return true;
  if (now < no_cap_until_) return false;
  // Long calls count as accepted before they have ended.
  const uint32_t most = std::max(most_accepted_.get(now), long_calls_ ? in_flight_ : 0);
  if (long_calls_) {
    // Each long call adds one to the calls in flight for a long time. Only a number that does not rise between refusals
    // may be the limit.
    if (now < blamed_at_ + kLongCall) return false;
    if (start.in_flight > 1.02 * blamed_ + 1) blame_ = std::min(blame_, 0);
    blamed_ = start.in_flight;
    blamed_at_ = now;
  }
  blame_ = start.in_flight > most && most > 0 ? blame_ + 1 : std::max(blame_ - 2, -4);
  if (blame_ < kBlame) return false;
  cap_ = std::max(1u, most);
  step_ = 1;
  doubts_ = 0;
  growing_ = searching_ = false;
  return true;
}

void AdaptiveRate::over_cap(const Start& start, BootTime now) {
  if (cap_known_) return;
  debt_ = std::min(kMostDebt, debt_ + 1.4 * kEach);
  step_ = 1;
  if (start.in_flight > cap_) return;
  cap_ = std::max(1u, std::min(start.in_flight - 1, static_cast<uint32_t>(0.8 * cap_)));
  if (now > doubted_at_ + kDoubtful) doubts_ = 0;
  doubted_at_ = now;
  if (++doubts_ >= kDoubts) leave_cap(now);
}

void AdaptiveRate::leave_cap(BootTime now) {
  cap_ = 0;
  blame_ = 0;
  no_cap_for_ = std::clamp<nanoseconds>(2 * no_cap_for_, seconds(60), seconds(3600));
  no_cap_until_ = now + no_cap_for_;
  limit_ = std::clamp(recent_.rate(now), least_, most_);
  debt_ = std::min(debt_, most_debt(false));
  new_cycle(now);
}

void AdaptiveRate::hear(const Start& start, BootTime now, const LimitHints& hints) {
  if (hints.concurrent && hints.limit) {
    cap_ = static_cast<uint32_t>(std::clamp(*hints.limit, 1.0, 1e6));
    cap_known_ = true;
    cap_heard_ = now;
    return;
  }
  if (cap_known_ && now > cap_heard_ + kReported) {
    cap_ = 0;
    cap_known_ = false;
  }
  const bool said = hints.limit && *hints.limit > 0;  // A limit of 0 is none, as the downstream does take calls.
  if (!said || start.at < heard_at_) return;
  // If the number has changed and the reset is near, the window has changed, as from an hour to a second.
  const bool is_other =
      static_cast<float>(*hints.limit) != std::exchange(reported_limit_, static_cast<float>(*hints.limit));
  const bool near = hints.reset && longest_reset() > std::max(120.0, 20 * hint_seconds(*hints.reset));
  if (is_other && near) forget_resets();
  if (hints.reset) hear_reset(now, static_cast<float>(hint_seconds(*hints.reset)));
  const double window = reported_window(now, hints);
  if (window > 0) hear_limit(*hints.limit / window);
  if (hints.remaining && hints.reset) hear_window(start, *hints.remaining, *hints.reset);
  if (hints.remaining) hear_level(start, now, *hints.remaining, *hints.limit);
  heard_at_ = start.at;
}

// The downstream accepts calls and has reported no limit for a long time. What it, or a proxy in front of it, reported
// before may no longer hold.
void AdaptiveRate::forget(BootTime now) {
  if (heard_at_ == BootTime{} || now < heard_at_ + kReported) return;
  heard_at_ = level_at_ = window_end_ = BootTime{};
  window_known_ = false;
  said_ = 0;
  forget_resets();
  debt_ = std::min(debt_, limit_);
}

void AdaptiveRate::forget_resets() {
  reset_ = reset_before_ = 0;
  shortest_reset_ = shortest_reset_before_ = 1e9F;
}

// A reset that was wrong, or that belongs to a former window, must not count for ever.
void AdaptiveRate::hear_reset(BootTime now, float reset) {
  if (now > reset_from_ + kReportedReset) {
    const bool old = now > reset_from_ + 2 * kReportedReset;
    reset_before_ = old ? 0 : reset_;
    shortest_reset_before_ = old ? reset : shortest_reset_;
    reset_ = 0;
    shortest_reset_ = reset;
    reset_from_ = now;
  }
  reset_ = std::max(reset_, reset);
  shortest_reset_ = std::min(shortest_reset_, reset);
}

// The length of the window in seconds; 0: not known yet. The longest time until a reset is the window. If resets are
// given as times of day, all of them have the same error of up to a second. Then the range of short ones is the window,
// in whole seconds.
double AdaptiveRate::reported_window(BootTime now, const LimitHints& hints) const {
  if (hints.window) return hint_seconds(*hints.window);
  const float longest = longest_reset();
  if (!hints.reset_is_time || longest > 5) return longest;
  if (now < reset_from_ + seconds(3) && reset_before_ == 0) return 0;
  constexpr float kBetween = 0.08F;  // Seconds between two answers: the range is that much too short.
  return std::max(1.0F, std::floor(longest - std::min(shortest_reset_, shortest_reset_before_) + kBetween));
}

void AdaptiveRate::hear_limit(double said) {
  if (said_ > 0 && std::abs(said - said_) < 0.01 * said_) return;
  const bool all_ours = said_ == 0 || limit_ >= 0.9 * said_;
  limit_ = std::clamp(all_ours ? said : limit_ * said / said_, least_, most_);
  if (said_ > 0) most_left_ *= std::min(1.0, said / said_);  // A smaller limit has a smaller bucket.
  said_ = said;
  growing_ = searching_ = false;
}

// A window is fixed if its end stays the same while time goes on.
void AdaptiveRate::hear_window(const Start& start, double remaining, nanoseconds reset) {
  const BootTime end = start.at + reset;
  const bool same = end > window_end_ - milliseconds(1'100) && end < window_end_ + milliseconds(1'100);
  if (!same) {
    window_end_ = end;
    window_heard_ = start.at;
    window_known_ = false;
  } else if (start.at > window_heard_ + kSureOfWindow) {
    window_known_ = true;
  }
  window_left_ = remaining - (units_ - start.total);
}

// A bucket fills steadily. Its inflow is the limit, less what others use.
void AdaptiveRate::hear_level(const Start& start, BootTime now, double left, double limit) {
  const double passed = hint_seconds(start.at - level_at_);
  const double came = left - level_ + (start.total - level_total_);
  if (level_at_ == BootTime{} || passed > 3) {
    inflow_ = rate();
  } else {
    if (passed < 0.3 && came > std::max(4.0, 0.3 * limit)) steps_until_ = now + seconds(20);
    if (passed < 0.25) return;
    // A full bucket overflows, so what came into it cannot be read. It may have been full since the last answer.
    const double highest = level_ + kFills * said_ * passed - (start.total - level_total_);
    const bool full = std::max(left / 0.7, highest) >= most_left_ && came / passed < inflow_;
    if (!full) inflow_ += (1 - std::exp(-passed / 1.5)) * (came / passed - inflow_);
  }
  if (knows_level(now) && inflow_ < kAllOurs * said_) shared_until_ = now + kStillShared;
  most_left_ = std::max(kLeft * most_left_, left);
  level_at_ = start.at;
  level_ = left;
  level_total_ = start.total;
}

bool AdaptiveRate::knows_level(BootTime now) const {
  return now < shared_until_ && now < level_at_ + seconds(3) && now > steps_until_ && longest_reset() < 3 && run_ < 3 &&
         most_left_ >= kBucket;
}

double AdaptiveRate::pace_by_level(BootTime now) const {
  const double left = level_ + inflow_ * hint_seconds(now - level_at_) - (units_ - level_total_);
  const double aimed = 1 + std::clamp(kAimed * (most_left_ - kSpare), 0.0, kMostAimed);
  return inflow_ * caution_ * std::max(1 + kByLevel * (left - aimed), kSlowestByLevel);
}

// Units per second; 0 if this does not apply. At any rate, a call just after somebody else's call finds a small bucket
// empty. So refusals do not mean that the rate is too high, unless nearly all calls are refused.
double AdaptiveRate::least_shared(BootTime now) {
  const bool is_small = level_at_ != BootTime{} && most_left_ < kBucket;
  if (said_ == 0 || now >= shared_until_ || !is_small) return 0;
  return std::min(kLeastShare * said_, kMostInVain * long_.rate(now));
}

}  // namespace freshet
