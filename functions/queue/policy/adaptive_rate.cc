#include "functions/queue/policy/adaptive_rate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace freshet {

namespace {

constexpr double kFirst = 5;       // Units a second, at the start.
constexpr double kDoubling = 0.7;  // Seconds, while nothing was refused yet.
constexpr double kGrowth = 0.09;   // After x seconds of growth the rate is
                                   // exp(kGrowth x^2) times the limit.
constexpr double kStage = 4;       // It grows that far; then it has to be accepted.
constexpr double kBelieve = 0.85;  // What is known of a bucket is forgotten that far each time.
constexpr double kMostDebtSeconds = 10;
constexpr double kLeastOfLong = 0.5;
constexpr double kJump = 1.6;
constexpr double kStep = 1.06;
constexpr double kLongCycle = 10;
constexpr double kMostBurst = 2;   // Seconds.
constexpr double kBelow = 0.03;    // After a refusal the rate is that much below the limit at first.
constexpr double kAtRest = 0.995;  // Of the limit.
constexpr double kEach = 80;       // Units to be accepted for each that was refused.
constexpr double kMostDebt = 4 * kEach;
constexpr double kLostShare = 0.03;  // Of the time may be lost by pauses that the downstream asks for.
constexpr milliseconds kShortPause{2'000};
constexpr double kMostLostSeconds = 8;
constexpr double kCatchUp = 1.5;  // After a pause the rate is that much higher,
                                  // for what a bucket has saved.
constexpr double kStepAsked = 1.02;
constexpr double kAtOnce = 0.02;     // Seconds: what may start at once is worth that, or is one.
constexpr double kLag = 0.05;        // Of an interval: a start that is that late does not delay the next.
constexpr double kLeastCycle = 1;    // Seconds that can be measured.
constexpr double kLongestProbe = 2;  // Seconds between two calls while everything is refused,
constexpr double kRareProbe = 10;    // and so many when that has lasted.
constexpr seconds kOutage{90};       // Refusals for longer say nothing of a rate.
constexpr milliseconds kLongestPause{600'000};
constexpr double kByLevel = 0.4;     // A unit that is left in the bucket raises the rate that far.
constexpr double kCaution = 0.0006;  // Each accepted unit raises the rate that
                                     // far, and each refused lowers it
constexpr double kCautious = 110;    // so many times as far.
constexpr double kBucket = 3;        // One that never has so many units left is too small to tell from.
constexpr seconds kShared{60};       // It was refused below the limit: somebody else
                                     // uses it too, for so long.
constexpr seconds kSureOfWindow{2};
constexpr int kBlame = 3;
constexpr seconds kLongCall{5};
constexpr seconds kTold{60};        // A limit holds so long after it was told, if answers come without it.
constexpr seconds kToldReset{600};  // The longest time until a reset counts for that long to twice as long.
constexpr int kDoubts = 8;
constexpr seconds kDoubtful{10};

// The rate after `x` seconds of growth, as a multiple of where it began.
double growth(double x) {
  return std::min(std::exp(kGrowth * x * x), kStage);
}

double in_seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
nanoseconds of_seconds(double time) {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(std::min(time, 3600.0)));
}

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

void AdaptiveRate::go_on(double rate, size_t concurrency) {
  limit_ = std::clamp(rate, least_, most_);
  searching_ = growing_ = false;
  debt_ = kEach;  // As after a refusal.
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
    const double x = in_seconds(now - grew_at_ - grow_idle_);
    pace *= searching_ ? std::exp2(x / kDoubling) : growth(x);
  } else if (!growing_ && window_ > 0 && edge_units_ < quota_) {
    const double left = 0.98 * window_ - in_seconds(now - edge_at_);
    pace = std::max((quota_ - edge_units_) / std::max(left, 0.02 * window_), 0.95 * quota_ / window_);
  } else if (!growing_) {
    const double left = std::min(1.0, debt_ / kEach);
    pace *= kAtRest - kBelow * left * left;
    if (catch_up_ > 0) pace *= kCatchUp;
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

// The count that was refused ten seconds ago is used again, but evenly.
double AdaptiveRate::pace_sliding(BootTime now, double pace) const {
  constexpr double kHigher = 1.05;
  const double left = sliding_.most() - sliding_.count(now);
  if (left < 1.5) return 0.1 * limit_;
  return std::clamp(pace, limit_, kHigher * limit_) * (left > 2 + 0.03 * sliding_.most() ? kHigher : 1);
}

size_t AdaptiveRate::room() const {
  if (cap_ == 0) return SIZE_MAX;
  const uint32_t most = cap_ + (debt_ <= 0 && !cap_known_ ? step_ : 0);
  return most > in_flight_ ? most - in_flight_ : 0;
}

// When the next one is due by the pace alone.
BootTime AdaptiveRate::due(BootTime now) const {
  const double pace = this->pace(now);
  return std::max({base_ + of_seconds(owed_ / pace), now - of_seconds(kLag / pace), paused_until_});
}

size_t AdaptiveRate::allowed(BootTime now, size_t wanted) const {
  const BootTime due = this->due(now);
  if (due > now || wanted == 0) return 0;
  const double pace = this->pace(now);
  const double more = std::max(0.0, std::floor((in_seconds(now - due) + kAtOnce) * pace) - 1);
  return std::min({wanted, room(), 1 + static_cast<size_t>(std::min(more, 1e6))});
}

BootTime AdaptiveRate::next(BootTime now) const {
  if (room() == 0) return now + seconds(3600);
  const BootTime due = this->due(now);
  return due <= now ? now : std::max(due, now + milliseconds(1));
}

AdaptiveRate::Start AdaptiveRate::started(BootTime now, double units) {
  const BootTime due = this->due(now);
  if (last_start_ == BootTime{}) {
    new_cycle(now);
    grew_at_ = now;
  } else if (const auto late = now - std::max(base_ + of_seconds(owed_ / pace(now)), paused_until_);
             late > milliseconds(20) && late > of_seconds(0.2 / pace(now))) {
    idle_ += late;
    if (growing_) grow_idle_ += late;
  }
  if (window_ > 0 && in_seconds(now - edge_at_) >= window_) {
    edge_at_ += of_seconds(window_);
    edge_units_ = 0;
  }
  edge_units_ += units;
  if (run_ > 0 && since_refusal_ > 0) end_run(last_start_);
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
  catch_up_ = std::max(0.0, catch_up_ - units * (1 - 1 / kCatchUp));
  return {now, static_cast<float>(units), ++in_flight_, units_};
}

void AdaptiveRate::new_cycle(BootTime at) {
  cycle_at_ = at;
  cycle_units_ = 0;
  idle_ = nanoseconds(0);
}

// So many units were accepted.
void AdaptiveRate::pay(BootTime now, double units) {
  debt_ = std::max(0.0, debt_ - units);
  if (window_ > 0 && edge_units_ < quota_ && !growing_) return;
  if (debt_ > 0 || run_ > 0 || (growing_ && !grown_far(now))) return;
  growing_ = true;
  grew_at_ = now;
  grow_idle_ = nanoseconds(0);
}

// After kStage times the rate begins to grow anew from there: slowly at first, so that windows of some seconds, which
// take far too much before they refuse anything, are not overrun.
bool AdaptiveRate::grown_far(BootTime now) {
  const double pace = this->pace(now);
  if (searching_ || paced_by_cap() || pace < kStage * limit_) return false;
  limit_ = std::min(pace, 2 * recent_.rate(now));
  new_cycle(now);
  return true;
}

void AdaptiveRate::accepted(const Start& start, BootTime now, const LimitHints& hints, std::optional<double> units) {
  if (in_flight_ > 0) --in_flight_;
  long_calls_ = now - start.at >= kLongCall;
  most_accepted_.add(now, start.in_flight);
  if (searching_) proven_ = std::max(proven_, recent_.rate(now));
  if (units) owed_ += *units - start.units;
  if (cap_ > 0 && start.in_flight > cap_) {
    cap_ = start.in_flight;
    step_ = std::min<uint32_t>(step_ * 2, 1u << 20);
  }
  hear(start, now, hints);
  if (!hints.limit) forget(now);
  caution_ = std::min(1.2, caution_ + kCaution * start.units);
  pay(now, start.units);
}

void AdaptiveRate::abandoned(const Start&) {
  if (in_flight_ > 0) --in_flight_;
}

void AdaptiveRate::pause(BootTime now, const LimitHints& hints) {
  if (hints.retry_after) {
    const auto wait = std::clamp(*hints.retry_after, milliseconds(0), kLongestPause);
    // A long pause is a window that was used up, and no loss.
    asked_ = true;
    const bool lost = wait <= kShortPause && now + wait > paused_until_;
    asked_long_ = asked_long_ || wait > kShortPause;
    if (lost) {
      const double more = in_seconds(now + wait - std::max(now, paused_until_));
      const double missed = std::max(0.0, more - burst_);
      debt_ = std::max(debt_, std::min(debt_ + missed * limit_ / kLostShare, kMostLostSeconds * limit_));
      lost_ += more;
      if (catch_up_ > 0) burst_ *= 0.5;
      catch_up_ = 0.8 * std::min(more, burst_) * limit_;
    }
    paused_until_ = std::max(paused_until_, now + wait);
    return;
  }
  if (run_ < 2) return;
  const double lasted = in_seconds(now - run_at_);
  const double wait = std::ldexp(1 / rate(), static_cast<int>(std::min(run_, 30u)) - 1);
  const double most = std::clamp(lasted / 10, kLongestProbe, kRareProbe);
  paused_until_ = std::max(paused_until_, now + of_seconds(std::min(wait, most)));
}

void AdaptiveRate::refused(const Start& start, BootTime now, const LimitHints& hints) {
  if (in_flight_ > 0) --in_flight_;
  cycle_units_ -= start.units;
  units_ -= start.units;
  edge_units_ -= start.units;
  recent_.add(now, -start.units);
  long_.add(now, -start.units);
  sliding_.add(now, -start.units);
  hear(start, now, hints);
  caution_ = std::max(0.4, caution_ - kCaution * kCautious * start.units);
  if (said_ > 0) shared_until_ = now + kShared;
  const bool by_cap = cap_known_ ? hints.concurrent || start.in_flight > cap_ : blames_concurrency(start, now, hints);
  if (by_cap) {
    if (hints.retry_after) pause(now, hints);
    return over_cap(start, now);
  }
  since_refusal_ = 0;
  const double evenly = sliding_.count(now) / SlidingCount::kLength;  // Then every window is alike.
  if (sliding_.known() || std::abs(recent_.rate(now) - evenly) > 0.08 * evenly) sliding_.refused(now, run_ == 0);
  if (run_ == 0) run_at_ = now;
  if (run_ == 0 || start.at >= counted_at_) {  // Others were under way when the last one was refused.
    ++run_;
    counted_at_ = now;
  }
  const double measured = in_seconds(now - cycle_at_ - idle_);
  const double cost = measured >= kLeastCycle ? kEach : kEach / 4;
  debt_ = std::max(debt_, std::min(kMostDebt, debt_ + cost));
  pause(now, hints);
  if (growing_) cut();
}

// Grows no more; what the limit is then is decided when something is accepted again.
void AdaptiveRate::cut() {
  grew_ = !searching_;
  grew_from_ = limit_;
  grew_for_ = searching_ ? 0 : in_seconds(last_start_ - grew_at_ - grow_idle_);
  if (searching_) limit_ = std::clamp(0.7 * pace(last_start_), least_, most_);
  growing_ = false;
  searching_ = false;
}

// Something was accepted at `at` after a run of refusals.
void AdaptiveRate::end_run(BootTime at) {
  const double lasted = in_seconds(at - cycle_at_ - idle_);
  const nanoseconds run = at - run_at_;
  run_ = 0;
  meet_edge(at, run);
  if (run > kOutage && window_ == 0) return end_outage(at);
  if (lasted < kLeastCycle) return cut_again(at);
  cuts_ = 0;
  const double accepted = std::max(cycle_units_ - 1, 0.0);  // Without the one that ended it.
  estimate(accepted, lasted, run);
  if (window_ == 0 && sliding_.known()) limit_ = sliding_.limit();
  limit_ = std::clamp(limit_, least_, most_);
  debt_ = std::min(debt_, kMostDebtSeconds * limit_);
  asked_ = asked_long_ = false;
  last_units_ = accepted;
  last_seconds_ = lasted;
  new_cycle(at);
  cycle_units_ = 1;
}

// It was out of order, or has a long window that is not known yet. What it allowed before is the best guess.
void AdaptiveRate::end_outage(BootTime at) {
  cuts_ = 0;
  lost_ = catch_up_ = 0;
  grew_ = jumped_ = false;
  grew_for_ = 0;
  debt_ = std::min(debt_, limit_);
  asked_ = asked_long_ = false;
  new_cycle(at);
  cycle_units_ = 1;
}

// A long run of refusals ends where a window of a minute or so does. From one such end to the next, what was accepted
// is what the window allows. From then on it is spread over the window, and more is asked for when it is used up.
// After a run that may have been an outage, the same time has to pass between two ends for a second time.
void AdaptiveRate::meet_edge(BootTime at, nanoseconds run) {
  constexpr double kLeastWindow = 20, kMostWindow = 4000;
  const double length = in_seconds(at - edge_at_);
  const bool near = window_ > 0 && length > 0.9 * window_;
  const bool longer = run >= seconds(3);
  if (!near && !longer) {
    window_ = 0;
    return;
  }
  const bool again = std::abs(length - edge_length_) < 0.1 * length;
  edge_length_ = length;
  const bool fits =
      edge_at_ != BootTime{} && length > kLeastWindow && length < kMostWindow && (run <= kOutage || near || again);
  window_ = !fits ? 0 : near ? (window_ + length) / 2 : length;
  quota_ = edge_units_ - 1;
  edge_at_ = at;
  edge_units_ = 1;
}

// It was refused again too soon to measure anything.
void AdaptiveRate::cut_again(BootTime now) {
  constexpr double kCuts[] = {0.93, 0.85, 0.7};
  if (cuts_ == 0 && jumped_ && limit_ > grew_from_) {
    limit_ = limit_ > kStep * grew_from_ ? std::sqrt(limit_ * grew_from_) : grew_from_;
  } else {
    limit_ *= kCuts[std::min<size_t>(cuts_, 2)];
  }
  ++cuts_;
  limit_ = std::max({limit_, least_, kLeastOfLong * long_.rate(now)});
  debt_ = std::min(debt_, asked_ ? kMostDebtSeconds * limit_ : kEach / 3);
}

// What the downstream took beyond `limit` while the rate grew.
double AdaptiveRate::beyond(double limit) const {
  constexpr int kSteps = 16;
  const double from = limit > grew_from_ ? std::sqrt(std::log(limit / grew_from_) / kGrowth) : 0;
  if (grew_for_ <= from) return 0;
  const double step = (grew_for_ - from) / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double x = from + (i + 0.5) * step;
    sum += (grew_from_ * growth(x) - limit) * step;
  }
  return sum;
}

// The limit beyond which it took as much as its bucket is believed to hold.
double AdaptiveRate::limit_by_growth() const {
  double low = grew_from_;
  double high = grew_from_ * growth(grew_for_);
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (beyond(middle) > burst_ * middle + 1 ? low : high) = middle;
  }
  return low;
}

// The limit is at most `whole` as long as it stays: a bucket that was full for a while lost something.
void AdaptiveRate::estimate(double accepted, double lasted, nanoseconds run) {
  const double lost = std::max(0.0,
                               lost_ - burst_);  // What came meanwhile and the bucket could not hold.
  lost_ = 0;
  const double whole = accepted / std::max(lasted - lost, 0.5 * lasted);
  const bool grew = std::exchange(grew_, false);
  jumped_ = false;
  const bool by_order = asked_ && !asked_long_;
  if (!by_order && in_seconds(run) > std::max(1.0, 0.2 * lasted)) {
    limit_ = lasted < kLongCycle ? (accepted + last_units_) / (lasted + last_seconds_) : whole;
    return;
  }
  if (grew) {
    burst_ *= kBelieve;
    limit_ = std::max(whole, limit_by_growth());
    const bool far = kJump < growth(grew_for_);
    if (!far) limit_ = std::min(limit_, (by_order ? kStepAsked : kStep) * grew_from_);
    jumped_ = true;
    return;
  }
  // It was refused at rest: the bucket was empty before and is now, so that this is the limit.
  const double last = limit_;
  limit_ = std::min(last, std::max(whole, 0.8 * last));
  if (grew_for_ > 0) burst_ = std::clamp((beyond(limit_) - 1) / limit_, 0.0, kMostBurst);
  grew_for_ = 0;
}

bool AdaptiveRate::blames_concurrency(const Start& start, BootTime now, const LimitHints& hints) {
  // Who knows when to come again counts calls over time.
  if (hints.retry_after || said_ > 0) {
    if (cap_ > 0) leave_cap(now);
    return false;
  }
  if (cap_ > 0) return true;
  if (now < no_cap_until_) return false;
  // Calls that take long have been let in, though none of them has ended.
  const uint32_t most = std::max(most_accepted_.get(now), long_calls_ ? in_flight_ : 0);
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
  new_cycle(now);
}

void AdaptiveRate::hear(const Start& start, BootTime now, const LimitHints& hints) {
  if (hints.concurrent && hints.limit) {
    cap_ = static_cast<uint32_t>(std::clamp(*hints.limit, 1.0, 1e6));
    cap_known_ = true;
    cap_heard_ = now;
    return;
  }
  if (cap_known_ && now > cap_heard_ + kTold) {
    cap_ = 0;
    cap_known_ = false;
  }
  const bool said = hints.limit && *hints.limit > 0;  // A limit of 0 is none, as the downstream does take calls.
  if (!said || start.at < heard_at_) return;
  // Another number, and a reset that is near: the window of an hour has become one of a second.
  const bool is_other =
      static_cast<float>(*hints.limit) != std::exchange(told_limit_, static_cast<float>(*hints.limit));
  const bool near = hints.reset && longest_reset() > std::max(120.0, 20 * in_seconds(*hints.reset));
  if (is_other && near) forget_resets();
  if (hints.reset) hear_reset(now, static_cast<float>(in_seconds(*hints.reset)));
  const double window = window_told(now, hints);
  if (window > 0) hear_limit(*hints.limit / window);
  if (hints.remaining && hints.reset) hear_window(start, *hints.remaining, *hints.reset);
  if (hints.remaining) hear_level(start, now, *hints.remaining, *hints.limit);
  heard_at_ = start.at;
}

// The downstream takes calls, and has said nothing of a limit for long. What it said before, or a proxy in front of it,
// may hold no more.
void AdaptiveRate::forget(BootTime now) {
  if (heard_at_ == BootTime{} || now < heard_at_ + kTold) return;
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

// One that was wrong, or of a window that is no more, must not count for ever.
void AdaptiveRate::hear_reset(BootTime now, float reset) {
  if (now > reset_from_ + kToldReset) {
    const bool old = now > reset_from_ + 2 * kToldReset;
    reset_before_ = old ? 0 : reset_;
    shortest_reset_before_ = old ? reset : shortest_reset_;
    reset_ = 0;
    shortest_reset_ = reset;
    reset_from_ = now;
  }
  reset_ = std::max(reset_, reset);
  shortest_reset_ = std::min(shortest_reset_, reset);
}

// In seconds; 0: not known yet. The longest time until a reset is the window. Where resets are told as times of day,
// all of them are off by the same, up to a second: the range of short ones is the window, in whole seconds.
double AdaptiveRate::window_told(BootTime now, const LimitHints& hints) const {
  if (hints.window) return in_seconds(*hints.window);
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
  said_ = said;
  growing_ = searching_ = false;
}

// A window of some seconds whose end stays where it is while time goes on is a fixed one.
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

// A bucket fills steadily: what comes in beside what goes out is the limit, less what others use.
void AdaptiveRate::hear_level(const Start& start, BootTime now, double left, double limit) {
  const double passed = in_seconds(start.at - level_at_);
  const double came = left - level_ + (start.total - level_total_);
  if (level_at_ == BootTime{} || passed > 3) {
    inflow_ = rate();
  } else {
    if (passed < 0.3 && came > std::max(4.0, 0.3 * limit)) steps_until_ = now + seconds(20);
    if (passed < 0.25) return;
    // A bucket that is full lets the rest flow over.
    const bool full = left >= 0.7 * most_left_ && came / passed < inflow_;
    if (!full) inflow_ += (1 - std::exp(-passed / 1.5)) * (came / passed - inflow_);
  }
  most_left_ = std::max(0.997 * most_left_, left);
  level_at_ = start.at;
  level_ = left;
  level_total_ = start.total;
}

bool AdaptiveRate::knows_level(BootTime now) const {
  return now < shared_until_ && now < level_at_ + seconds(3) && now > steps_until_ && longest_reset() < 3 && run_ < 3 &&
         most_left_ >= kBucket;
}

double AdaptiveRate::pace_by_level(BootTime now) const {
  const double left = level_ + inflow_ * in_seconds(now - level_at_) - (units_ - level_total_);
  return inflow_ * caution_ * std::max(1 + kByLevel * (left - 1), 0.3);
}

}  // namespace freshet
