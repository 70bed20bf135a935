#include "functions/queue/policy/adaptive_rate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace freshet {

namespace {

constexpr double kFirst = 5;            // The first rate, in units per second.
constexpr double kDoubling = 0.7;       // Seconds in which the rate doubles while nothing was refused yet.
constexpr double kSteepHoped = 0.2;     // The steepness of growth while the limit is far below its recent height.
constexpr double kMostGrowth = 2;       // The most seconds of growth that one accepted call adds.
constexpr double kMostSearch = 0.2;     // The same while nothing was refused yet.
constexpr double kBelieve = 0.85;       // The part of a bucket's known size that is kept each time.
constexpr double kBelieveKnown = 0.97;  // The same for a bucket whose size is known.
constexpr double kFirstCut = 0.94;
constexpr double kMostDebtSeconds = 10;
constexpr double kSlowDebt = 60;  // The debt of a slow downstream, in units.
constexpr double kMostSlowSeconds = 30;
constexpr double kLeastOfLong = 0.5;
constexpr double kJump = 1.6;
constexpr double kUnlike = 1.1;  // Beyond this multiple of the limit, a burst cannot explain what was accepted.
constexpr double kStep = 1.06;
constexpr double kLongCycle = 10;
constexpr double kMostBurst = 2;     // Seconds.
constexpr double kBelow = 0.03;      // After a refusal, the rate is at first below the limit by this share.
constexpr double kAtRest = 0.995;    // The rate at rest, as a share of the limit.
constexpr double kEachHoped = 30;    // Replaces kEach while the limit is far below its recent height.
constexpr double kLostShare = 0.03;  // The share of the time that requested pauses may cost.
constexpr milliseconds kShortPause{2'000};
constexpr double kLongestRest = 40;  // The most seconds between two attempts to raise the rate.
constexpr double kLongerRest = 1.6;  // This time grows by this factor while the limit stays.
constexpr double kStays = 0.04;      // A limit that changes by less than this share stays.
constexpr double kHeld = 8;          // Seconds that prove a limit.
constexpr double kSoon = 1.2;        // Above this ratio, the pause in a cycle says more than what was measured.
constexpr seconds kTopHolds{1200};   // The time for which the highest limit counts.
constexpr double kStepAsked = 1.02;
constexpr double kAtOnce = 0.02;  // The rate of these seconds may start at once, or one call.
constexpr double kLag = 0.05;     // A start that is late by this share of an interval does not delay the next.
constexpr uint32_t kSureRun = 4;  // Refusals in a row that may mean that a window is used up.
constexpr milliseconds kLongestRefusal{2'000};
constexpr double kLeastCycle = 1;    // The shortest cycle that can be measured, in seconds.
constexpr double kLongestProbe = 2;  // The most seconds between two calls while everything is refused.
constexpr double kRareProbe = 10;    // The same after a long time of refusals.
constexpr milliseconds kLongestPause{600'000};
// The bounds of `caution_`, a factor of the rate by level.
constexpr double kLeastCaution = 0.6;
constexpr double kMostCaution = 1.2;
constexpr double kCaution = 0.0006;  // Each accepted unit raises `caution_` by this.
constexpr double kCautious = 200;    // Each refused unit lowers it by this many times kCaution.
constexpr seconds kShared{60};  // After a refusal below the reported limit, others count as its users for this time.

}  // namespace

void AdaptiveRate::Recent::pass(BootTime now) {
  const int64_t part = now.time_since_epoch() / part_length_;
  for (int64_t i = std::max(part_ + 1, part - 4); i <= part; ++i) parts_[static_cast<size_t>(i % 5)] = 0;
  part_ = part;
}
void AdaptiveRate::Recent::add(BootTime now, double units) {
  pass(now);
  parts_[static_cast<size_t>(part_ % 5)] += static_cast<float>(units);
}
double AdaptiveRate::Recent::rate(BootTime now) {
  pass(now);
  double sum = 0;
  for (const float part : parts_) sum += part;
  return sum / (4 * in_seconds(part_length_) + in_seconds(now.time_since_epoch() % part_length_));
}

void AdaptiveRate::Most::pass(BootTime now) {
  if (now < from_ + seconds(10)) return;
  before_ = now < from_ + seconds(20) ? now_ : 0;
  now_ = 0;
  from_ = now;
}
void AdaptiveRate::Most::add(BootTime now, uint32_t value) {
  pass(now);
  now_ = std::max(now_, value);
}
uint32_t AdaptiveRate::Most::get(BootTime now) {
  pass(now);
  return std::max(now_, before_);
}

AdaptiveRate::AdaptiveRate(double least, double most)
    : least_(least), most_(most), limit_(std::clamp(kFirst, least, most)) {}

void AdaptiveRate::set_bounds(double least, double most) {
  least_ = least;
  most_ = most;
  limit_ = std::clamp(limit_, least_, most_);
}

void AdaptiveRate::go_on(double rate, size_t concurrency, double highest, BootTime now) {
  limit_ = std::clamp(rate, least_, most_);
  searching_ = growing_ = false;
  top_ = std::clamp(highest, 0.0, most_);
  top_at_ = now;
  debt_ = hopes() ? kEachHoped : kEach;  // The debt is that after a refusal.
  cap_ = static_cast<uint32_t>(std::min<size_t>(concurrency, 1'000'000));
}

double AdaptiveRate::rate() const {
  const double known = searching_ ? std::max(limit_, proven_) : limit_;
  const double rate = said_ > 0 ? std::min(known, said_) : known;
  return std::clamp(rate, least_, most_);
}

double AdaptiveRate::pace(BootTime now) const {
  if (paced_by_cap()) return most_;
  double pace = limit_;
  if (growing_ && grew_at_ != BootTime{}) {
    if (!may_be_next_window(now))
      pace *= searching_ ? std::exp2(grown_ / kDoubling) : growth(grown_, steepness_, most_growth());
  } else if (!growing_ && window_ > 0 && edge_units_ < quota_) {
    const double left = spread_ * window_ - in_seconds(now - edge_at_);
    pace = std::max((quota_ - edge_units_) / std::max(left, 0.02 * window_), 0.95 * quota_ / window_);
  } else if (!growing_) {
    const double left = std::min(1.0, debt_ / kEach);
    pace *= kAtRest - (by_order_ ? 0 : kBelow) * left * left;  // After a pause, the bucket is full.
  }
  if (!growing_ && window_ == 0 && sliding_.known()) pace = pace_sliding(now, pace);
  if (said_ > 0) pace = std::min(pace, said_ * kAtRest);
  if (knows_level(now)) {
    pace = pace_by_level(now);
  } else if (window_known_ && window_end_ > now) {
    pace = std::max(window_left_, 0.0) / std::max(in_seconds(window_end_ - now), 0.05);
  }
  return std::clamp(pace, least_, most_);
}

// The calls that were accepted ten seconds ago may be started again, spread evenly.
double AdaptiveRate::pace_sliding(BootTime now, double pace) const {
  constexpr double kHigher = 1.05, kFill = 1.15;
  const double left = sliding_.most() - sliding_.count(now);
  if (left < 1.5) return 0.1 * limit_;
  return std::clamp(pace, limit_, kHigher * limit_) * (left > 2 + 0.03 * sliding_.most() ? kFill : 1);
}

// The rate after `x` seconds of growth, as a multiple of where it began: exp(steepness x^2), up to `most`.
double AdaptiveRate::growth(double x, double steepness, double most) {
  return std::min(std::exp(steepness * x * x), most);
}

size_t AdaptiveRate::room() const {
  if (cap_ == 0) return SIZE_MAX;
  const uint32_t most = cap_ + (debt_ <= 0 && !cap_known_ ? step_ : 0);
  return most > in_flight_ ? most - in_flight_ : 0;
}

// After several refusals only one call is tried at a time. The next call waits as long as a refusal takes; after that
// time the one before counts as accepted.
bool AdaptiveRate::tries() const {
  return run_ >= kSureRun;
}
BootTime AdaptiveRate::tried_until() const {
  if (!tries() || since_refusal_ == 0) return BootTime{};
  return last_start_ + refusal_takes_ + refusal_takes_ / 4 + nanoseconds(1);
}

// When the next call is due, whatever the number of calls in flight.
BootTime AdaptiveRate::due(BootTime now) const {
  const double pace = this->pace(now);
  return std::max({base_ + of_seconds(owed_ / pace), now - of_seconds(kLag / pace), paused_until_, tried_until()});
}

size_t AdaptiveRate::allowed(BootTime now, size_t wanted) const {
  const BootTime due = this->due(now);
  if (due > now || wanted == 0) return 0;
  if (tries()) return std::min<size_t>(room(), 1);
  const double pace = this->pace(now);
  const double more = std::max(0.0, std::floor((in_seconds(now - due) + kAtOnce) * pace) - 1);
  return std::min({wanted, room(), 1 + static_cast<size_t>(std::min(more, 1e6))});
}

BootTime AdaptiveRate::next(BootTime now) const {
  if (room() == 0) return now + seconds(3600);
  BootTime due = this->due(now);
  if (window_known_ && window_end_ > now)
    due = std::min(due, window_end_);  // A window that was announced begins anew then.
  return due <= now ? now : std::max(due, now + milliseconds(1));
}

AdaptiveRate::Start AdaptiveRate::started(BootTime now, double units) {
  const BootTime due = this->due(now);
  if (last_start_ == BootTime{}) {
    new_cycle(now);
    free_at_ = grew_at_ = now;
  } else if (const auto late = now - std::max(base_ + of_seconds(owed_ / pace(now)), paused_until_);
             late > milliseconds(20) && late > of_seconds(0.2 / pace(now))) {
    idle_ += late;
    grew_at_ = std::min(now, grew_at_ + late);
  }
  if (window_ > 0 && in_seconds(now - edge_at_) >= window_) pass_edge();
  edge_units_ += units;
  free_units_ += units;
  if (run_ > 0 && since_refusal_ > 0 && now >= tried_until()) end_run(last_start_);
  ++since_refusal_;
  base_ = std::max(due, std::min(base_ + of_seconds(owed_ / pace(now)), now));
  owed_ = units;
  last_start_ = now;
  cycle_units_ += units;
  window_left_ -= units;
  recent_.add(now, units);
  long_.add(now, units);
  sliding_.add(now, units);
  units_ += units;
  return {now, static_cast<float>(units), ++in_flight_, units_};
}

void AdaptiveRate::new_cycle(BootTime at) {
  cycle_at_ = at;
  cycle_units_ = 0;
  idle_ = nanoseconds(0);
}

// The rate grows with time as long as calls are accepted. If the downstream answers nothing, the rate stays.
void AdaptiveRate::grow(BootTime now) {
  grown_ += std::min(in_seconds(now - grew_at_), searching_ ? kMostSearch : kMostGrowth);
  grew_at_ = now;
}

// Notes that the downstream accepted `units`.
void AdaptiveRate::pay(BootTime now, double units) {
  debt_ = std::max(0.0, debt_ - units);
  if (window_ > 0 && edge_units_ < quota_ && !growing_) return;
  if (debt_ > 0 || run_ > 0 || (growing_ && !grown_far(now))) return;
  growing_ = true;
  grew_at_ = now;
  grown_ = 0;
  steepness_ = hopes() && !by_order_ ? kSteepHoped : kSteep;
  steepness_ = std::max(steepness_, steepness_before_edge(now));
}

// After kStage times the rate begins to grow anew from there: slowly at first, so that windows of some seconds, which
// take far too much before they refuse anything, are not overrun.
bool AdaptiveRate::grown_far(BootTime now) {
  const double pace = this->pace(now);
  if (searching_ || sprints_ || paced_by_cap() || pace < kStage * limit_) return false;
  limit_ = std::min(pace, 2 * recent_.rate(now));
  new_cycle(now);
  return true;
}

void AdaptiveRate::accepted(const Start& start, BootTime now, const LimitHints& hints, std::optional<double> units) {
  if (in_flight_ > 0) --in_flight_;
  long_calls_ = now - start.at >= kLongCall;
  most_accepted_.add(now, start.in_flight);
  if (growing_) grow(now);
  if (searching_) proven_ = std::max(proven_, recent_.rate(now));
  if (units) owed_ += *units - start.units;
  if (cap_ > 0 && start.in_flight > cap_) {
    cap_ = start.in_flight;
    step_ = std::min<uint32_t>(step_ * 2, 1u << 20);
  }
  hear(start, now, hints);
  if (!hints.limit) forget(now);
  caution_ = std::min(kMostCaution, caution_ + kCaution * start.units);
  pay(now, start.units);
}

void AdaptiveRate::abandoned(const Start&) {
  if (in_flight_ > 0) --in_flight_;
}

void AdaptiveRate::pause(BootTime now, const LimitHints& hints) {
  if (hints.retry_after) {
    const auto wait = std::clamp(*hints.retry_after, milliseconds(0), kLongestPause);
    // A long pause means that a window was used up, which is no loss.
    asked_ = true;
    const bool lost = wait <= kShortPause && now + wait > paused_until_;
    asked_long_ = asked_long_ || wait > kShortPause;
    if (lost) {
      const double more = in_seconds(now + wait - std::max(now, paused_until_));
      lost_ += more;
    }
    paused_until_ = std::max(paused_until_, now + wait);
    return;
  }
  if (run_ < 2) return;
  const double lasted = in_seconds(now - run_at_);
  const double wait = std::ldexp(1 / rate(), static_cast<int>(std::min(run_, 30u)) - 1);
  const double seldom = std::clamp(lasted / 10, kLongestProbe, kRareProbe);
  const double most = std::min(seldom, longest_probe_near_edge(now).value_or(seldom));
  paused_until_ = std::max(paused_until_, now + of_seconds(std::min(wait, most)));
}

void AdaptiveRate::refused(const Start& start, BootTime now, const LimitHints& hints) {
  if (in_flight_ > 0) --in_flight_;
  cycle_units_ -= start.units;
  units_ -= start.units;
  edge_units_ -= start.units;
  free_units_ -= start.units;
  recent_.add(now, -start.units);
  long_.add(now, -start.units);
  sliding_.add(now, -start.units);
  hear(start, now, hints);
  caution_ = std::max(kLeastCaution, caution_ - kCaution * kCautious * start.units);
  if (said_ > 0) shared_until_ = now + kShared;
  const bool by_cap = cap_known_ ? hints.concurrent || start.in_flight > cap_ : blames_concurrency(start, now, hints);
  if (by_cap) {
    if (hints.retry_after) pause(now, hints);
    return over_cap(start, now);
  }
  since_refusal_ = 0;
  refusal_takes_ = std::clamp(now - start.at, refusal_takes_ * 9 / 10, nanoseconds(kLongestRefusal));
  // If calls are even, all kinds of windows look alike.
  const double evenly = sliding_.count(now) / SlidingCount::kLength;
  if (sliding_.known() || std::abs(recent_.rate(now) - evenly) > 0.08 * evenly)
    sliding_.refused(now, run_ == 0, recent_.rate(now));
  if (run_ == 0) run_at_ = now;
  if (run_ == 0 || start.at >= counted_at_) {  // Calls that started before the last refusal do not count.
    ++run_;
    counted_at_ = now;
  }
  const double measured = in_seconds(now - cycle_at_ - idle_);
  const double each = hopes() ? kEachHoped : kEach;
  const double cost = measured >= kLeastCycle ? each : each / 4;
  debt_ = std::max(debt_, std::min(kMostDebt, debt_ + cost));
  pause(now, hints);
  if (growing_) cut();
}

// Ends the growth. The new limit is estimated when something is accepted again.
void AdaptiveRate::cut() {
  grew_ = !searching_;
  grew_from_ = limit_;
  grew_for_ = searching_ ? 0 : grown_;
  cut_rate_ = recent_.rate(last_start_);
  if (searching_) limit_ = std::clamp(0.7 * pace(last_start_), least_, most_);
  growing_ = false;
  searching_ = false;
}

// The most debt. It is paid within ten seconds, except for a slow downstream, of whose calls too many would be refused.
double AdaptiveRate::most_debt(bool is_sure) const {
  const double longest = asked_ ? std::max(rest_, kMostDebtSeconds) : kMostDebtSeconds;
  return std::max(longest * limit_, is_sure ? std::min(kSlowDebt, kMostSlowSeconds * limit_) : 0.0);
}

// A run of refusals has ended: something was accepted at `at`.
void AdaptiveRate::end_run(BootTime at) {
  const double lasted = in_seconds(at - cycle_at_ - idle_);
  const nanoseconds run = at - run_at_;
  const bool sure = std::exchange(run_, 0) >= kSureRun || asked_long_;
  meet_edge(at, run, sure);
  if (run >= kRealRun) note_real_run(at);
  if (run > kOutage && window_ == 0) return end_outage(at);
  if (lasted < kLeastCycle) return cut_again(at);
  cuts_ = 0;
  const double accepted = std::max(cycle_units_ - 1, 0.0);  // Without the call that ended the run.
  const double paused = std::exchange(lost_, 0);
  estimate({accepted, lasted, paused}, run);
  if (window_ > 0) limit_ = quota_ / window_;
  if (window_ == 0 && sliding_.known()) limit_ = sliding_.limit();
  limit_ = std::clamp(std::max(limit_, least_shared(at)), least_, most_);
  if (by_order_) debt_ = std::max(debt_, std::min(rest_, std::max(paused - burst_, 0.0) / kLostShare) * limit_);
  debt_ = std::min(debt_, most_debt(in_seconds(run) < 0.2 * lasted));
  asked_ = asked_long_ = false;
  last_units_ = accepted;
  last_seconds_ = lasted;
  new_cycle(at);
  cycle_units_ = 1;
}

// The downstream was out of order, or has a long window that is not known yet. The limit from before is the best guess.
void AdaptiveRate::end_outage(BootTime at) {
  cuts_ = 0;
  lost_ = 0;
  grew_ = jumped_ = false;
  grew_for_ = 0;
  debt_ = std::min(debt_, limit_);
  asked_ = asked_long_ = false;
  new_cycle(at);
  cycle_units_ = 1;
}

// A call was refused again, too soon to measure anything.
void AdaptiveRate::cut_again(BootTime now) {
  constexpr double kCuts[] = {0.93, 0.85, 0.7};
  if (cuts_ == 0 && jumped_ && limit_ > grew_from_) {
    limit_ = limit_ > kStep * grew_from_ ? std::sqrt(limit_ * grew_from_) : grew_from_;
  } else {
    limit_ *= kCuts[std::min<size_t>(cuts_, 2)];
  }
  ++cuts_;
  limit_ = std::max({limit_, least_, kLeastOfLong * long_.rate(now), std::min(least_shared(now), most_)});
  debt_ = std::min(debt_, asked_ ? most_debt(false) : kEach / 3);
}

// The work that the downstream accepted beyond `limit` while the rate grew.
double AdaptiveRate::beyond(double limit) const {
  constexpr int kSteps = 16;
  const double from = limit > grew_from_ ? std::sqrt(std::log(limit / grew_from_) / steepness_) : 0;
  if (grew_for_ <= from) return 0;
  const double step = (grew_for_ - from) / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double x = from + (i + 0.5) * step;
    sum += (grew_from_ * growth(x, steepness_) - limit) * step;
  }
  return sum;
}

// The limit beyond which the downstream accepted as much as its bucket is believed to hold.
double AdaptiveRate::limit_by_growth() const {
  double low = grew_from_;
  double high = grew_from_ * growth(grew_for_, steepness_);
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (beyond(middle) > burst_ * middle + 1 ? low : high) = middle;
  }
  return low;
}

// As long as the limit stays, it is at most `whole`, because a bucket that was full for a while lost something.
void AdaptiveRate::estimate(const Cycle& cycle, nanoseconds run) {
  const double lost = std::max(0.0, cycle.paused - burst_);  // Seconds of the limit that a full bucket could not hold.
  const double whole = cycle.accepted / std::max(cycle.lasted - lost, 0.5 * cycle.lasted);
  const bool grew = std::exchange(grew_, false);
  jumped_ = false;
  by_order_ = asked_ && !asked_long_;
  if (!by_order_ && in_seconds(run) > std::max(1.0, 0.2 * cycle.lasted)) {
    const bool is_long = cycle.lasted >= kLongCycle;
    limit_ = is_long ? whole : (cycle.accepted + last_units_) / (cycle.lasted + last_seconds_);
    return;
  }
  if (grew) return estimate_grown(cycle, whole);
  if (by_order_ && !sliding_.known() && estimate_soon_by_order(cycle)) return;
  // The refusal came at rest: the bucket was empty before and is empty now, so this is the limit.
  const double last = limit_;
  limit_ = std::min(last, std::max(whole, 0.8 * last));
  if (limit_ < (1 - kStays) * last) rest_ = kFirstRest;
  if (grew_for_ > 0) learn_burst();
}

// Learns the size of the bucket from what was accepted beyond the limit, as now estimated, while the rate grew.
void AdaptiveRate::learn_burst() {
  burst_ = std::clamp((beyond(limit_) - 1) / limit_, 0.0, kMostBurst);
  grew_for_ = 0;
}

void AdaptiveRate::estimate_grown(const Cycle& cycle, double whole) {
  burst_ *= by_order_ && burst_known_ ? kBelieveKnown : kBelieve;
  limit_ = std::max(whole, limit_by_growth());
  const bool far = by_order_ && burst_known_ ? limit_ > kUnlike * grew_from_ : kJump < growth(grew_for_, steepness_);
  if (!far) limit_ = std::min(limit_, (by_order_ ? kStepAsked : kStep) * grew_from_);
  if (by_order_) estimate_grown_by_order(cycle, far);
  const bool stays = std::abs(limit_ - grew_from_) < kStays * grew_from_;
  if (stays && (limit_ > top_ || cycle_at_ > top_at_ + kTopHolds)) top_ = limit_;
  if (stays && limit_ > (1 - kStays) * top_) top_at_ = cycle_at_;
  const double longest = sliding_.known() ? kFirstRest : hopes() ? kFirstRest : kLongestRest;
  rest_ = stays ? std::min(kLongerRest * rest_, longest) : kFirstRest;
  jumped_ = true;
}

// The downstream asked for a pause, which costs what the bucket could not save of it. A window of a second and a bucket
// then look alike: what was accepted before the refusal is either the limit or a burst. A limit half of the way is
// tried. If it is refused soon, it was a burst, whose size is known from then on.
void AdaptiveRate::estimate_grown_by_order(const Cycle& cycle, bool far) {
  refused_soon_ = false;
  held_ = cycle.lasted > kHeld ? grew_from_ : 0;
  if (far) {
    limit_ = std::min(limit_, std::max(cut_rate_, cycle.low()));
    if (!burst_known_) limit_ = std::max(limit_, std::sqrt(grew_from_ * cut_rate_));
    burst_known_ = false;
    return;
  }
  if (!burst_known_) {
    limit_ = std::max({limit_, std::sqrt(grew_from_ * cut_rate_), std::min(kStepAsked * grew_from_, cycle.high())});
  }
  limit_ = std::max(limit_, cycle.low());
}

// For a refusal at rest after a short cycle. The limit is then between the accepted rate of the whole cycle and that of
// the time outside of the pause.
bool AdaptiveRate::estimate_soon_by_order(const Cycle& cycle) {
  if (cycle.high() <= kSoon * cycle.low()) return false;
  const double held = std::exchange(held_, 0);
  if (held > 0.8 * limit_ && held < limit_) {
    limit_ = held;
    if (grew_for_ > 0) learn_burst();
    burst_known_ = true;
    return true;
  }
  grew_for_ = 0;
  if (!std::exchange(refused_soon_, true)) {
    limit_ = std::max(cycle.low(), kFirstCut * limit_);
    return true;
  }
  limit_ = std::min(0.98 * limit_, std::sqrt(cycle.low() * cycle.high()));
  burst_ = std::clamp(cycle.paused - cycle.lasted + cycle.accepted / limit_, 0.0, kMostBurst);
  rest_ = kFirstRest;
  return true;
}

}  // namespace freshet
