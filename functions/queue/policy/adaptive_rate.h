// The highest rate of starts that a downstream does not refuse, learnt from
// what it refuses (RATE_LIMIT=adaptive). Pure state with an explicit now; a few
// hundred bytes, so that each key may have one.
//
// A unit is a task, or a unit of its cost. Times never go back. Every started() is followed by exactly one call of
// accepted(), refused() or abandoned(), with the Start that it returned.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "functions/queue/policy/limit_hints.h"
#include "functions/queue/policy/sliding_count.h"

namespace freshet {

class AdaptiveRate {
 public:
  // The record of a start that started() gives, for its answer.
  struct Start {
    BootTime at{};
    float units = 1;
    uint32_t in_flight = 0;  // Calls under way, with this one.
    double total = 0;        // Units started so far and not refused, including these.
  };

  // Units a second; 0 < least <= most.
  AdaptiveRate(double least, double most);
  // Sets new bounds. What was learnt stays, within them.
  void set_bounds(double least, double most);

  // Goes on from what was learnt before a restart, and begins a little below it, as after a refusal. `highest`: see
  // highest(). Call it before the first start.
  void go_on(double rate, size_t concurrency, double highest, BootTime now);

  // How many of `wanted` calls of one unit each may start now.
  size_t allowed(BootTime now, size_t wanted) const;
  // When the next one may start, if no answer comes before. At least `now`. A
  // time that is far away (an hour) if only the end of a call can let another
  // one start.
  BootTime next(BootTime now) const;

  // A call starts that costs so many units: more than one delays the next start
  // accordingly.
  [[nodiscard]] Start started(BootTime now, double units = 1);
  // The downstream accepted the call, whatever its result. `units`: the actual cost.
  void accepted(const Start& start, BootTime now, const LimitHints& hints = {}, std::optional<double> units = {});
  // The downstream refused the call because of a limit.
  void refused(const Start& start, BootTime now, const LimitHints& hints = {});
  // The outcome is unknown: the call was not sent, or not answered.
  void abandoned(const Start& start);

  // The estimated limit, in units per second. Before the first refusal, the limit is at least that.
  double rate() const;
  // The number of calls that may be in flight; 0: no such limit is known.
  size_t concurrency() const { return cap_; }
  size_t in_flight() const { return in_flight_; }
  // The highest limit that was confirmed during the last twenty minutes, in units per second; 0: none. A limit far
  // below it is expected to rise again.
  double highest() const { return top_; }
  // True while nothing was refused, so that no limit is known.
  bool searches() const { return searching_; }
  BootTime last_start() const { return last_start_; }
  // The downstream asked not to be called before this time.
  BootTime paused_until() const { return paused_until_; }

 private:
  static constexpr double kEach = 80;  // Units to be accepted for each that was refused.
  static constexpr double kMostDebt = 4 * kEach;
  static constexpr double kFirstRest = 10;
  static constexpr double kHope = 0.7;
  static constexpr seconds kLongCall{5};
  static constexpr milliseconds kRealRun{500};  // A shorter run of refusals may have ended only in appearance: with a
                                                // call whose refusal was still under way.
  static constexpr double kSteep = 0.09;
  static constexpr double kSpread = 0.98;
  static constexpr seconds kOutage{90};  // Refusals for longer say nothing of a rate.
  static constexpr double kStage = 4;    // It grows that far; then it has to be accepted.

  // Counts units over the last four or five parts.
  class Recent {
   public:
    explicit Recent(nanoseconds part) : part_length_(part) {}
    void add(BootTime now, double units);
    double rate(BootTime now);

   private:
    void pass(BootTime now);
    nanoseconds part_length_;
    std::array<float, 5> parts_{};
    int64_t part_ = 0;
  };
  // The most calls in flight that were accepted in the last 10 to 20 s.
  class Most {
   public:
    void add(BootTime now, uint32_t value);
    uint32_t get(BootTime now);

   private:
    void pass(BootTime now);
    uint32_t now_ = 0, before_ = 0;
    BootTime from_{};
  };

  static double in_seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }
  static nanoseconds of_seconds(double time) {
    return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(std::min(time, 3600.0)));
  }
  static double growth(double x, double steepness, double most = kStage);
  double pace(BootTime now) const;
  void grow(BootTime now);
  BootTime due(BootTime now) const;
  bool tries() const;
  BootTime tried_until() const;
  size_t room() const;
  // A learnt limit of calls in flight is the only limit. If the downstream announces that limit, there may be a rate,
  // too.
  bool paced_by_cap() const { return cap_ > 0 && !cap_known_; }
  void pay(BootTime now, double units);
  bool grown_far(BootTime now);
  bool knows_edge() const;
  double most_growth() const;
  bool may_be_next_window(BootTime now) const;
  void end_run(BootTime at);
  void end_outage(BootTime at);
  void pass_edge();
  std::optional<double> longest_probe_near_edge(BootTime now) const;
  double steepness_before_edge(BootTime now) const;
  double window_used_at_once(BootTime at, BootTime refused_at) const;
  void note_real_run(BootTime end);
  bool edge_was_early(BootTime at) const;
  BootTime last_refusal() const;
  void note_edge(BootTime at, BootTime refused_at, bool again);
  void meet_edge(BootTime at, nanoseconds run, bool sure);
  void cut_again(BootTime now);
  // The work that was accepted from the end of one run of refusals to the next.
  struct Cycle {
    double accepted;  // Units,
    double lasted;    // in so many seconds,
    double paused;    // of which the downstream had asked not to be called for so many.
    double low() const { return accepted / lasted; }
    double high() const { return accepted / std::max(lasted - paused, 0.5 * lasted); }
  };
  void estimate(const Cycle& cycle, nanoseconds run);
  void estimate_grown(const Cycle& cycle, double whole);
  void estimate_grown_by_order(const Cycle& cycle, bool far);
  bool estimate_soon_by_order(const Cycle& cycle);
  void learn_burst();
  double most_debt(bool is_sure) const;
  bool hopes() const { return limit_ < kHope * top_ && !sliding_.known(); }
  double beyond(double limit) const;
  double limit_by_growth() const;
  void cut();
  void new_cycle(BootTime at);
  void hear(const Start& start, BootTime now, const LimitHints& hints);
  void forget(BootTime now);
  void hear_reset(BootTime now, float reset);
  void forget_resets();
  float longest_reset() const { return std::max(reset_, reset_before_); }
  double reported_window(BootTime now, const LimitHints& hints) const;
  double pace_sliding(BootTime now, double pace) const;
  void hear_limit(double said);
  void hear_window(const Start& start, double remaining, nanoseconds reset);
  void hear_level(const Start& start, BootTime now, double left, double limit);
  bool knows_level(BootTime now) const;
  double pace_by_level(BootTime now) const;
  double least_shared(BootTime now);
  bool blames_concurrency(const Start& start, BootTime now, const LimitHints& hints);
  void over_cap(const Start& start, BootTime now);
  void leave_cap(BootTime now);
  void pause(BootTime now, const LimitHints& hints);

  double least_;
  double most_;

  // Pacing: the next start is due `owed_` units after `base_`.
  BootTime base_{};
  double owed_ = 0;
  BootTime paused_until_{};
  BootTime last_start_{};
  uint32_t in_flight_ = 0;

  // The rate.
  double limit_;
  double burst_ = 0;     // The size of a bucket: it holds what the limit gives in that many seconds.
  bool jumped_ = false;  // The limit was raised by what the rate grew to.
  double last_units_ = 0, last_seconds_ = 0;  // The figures of the last cycle.
  bool grew_ = false;                         // The last growth ended in this cycle;
  double grew_from_ = 1;                      // it began at this rate
  double grew_for_ = 0;                       // and lasted so many seconds. 0: it has been used.
  bool searching_ = true;                     // Nothing was refused yet.
  double proven_ = 0;                         // The highest rate meanwhile that was let in.
  bool growing_ = true;
  BootTime grew_at_{};   // When it grew last, idle time excluded.
  double debt_ = 0;      // Units to be accepted before it asks for more again.
  BootTime cycle_at_{};  // The end of the last run of refusals.
  double cycle_units_ = 0;
  nanoseconds idle_{0};  // The part of the cycle in which nobody wanted to start anything.
  double steepness_ = kSteep;
  double grown_ = 0;     // In seconds.
  double cut_rate_ = 0;  // The starts that were let in during the last second of it.
  Recent recent_{milliseconds(250)};
  Recent long_{seconds(2)};
  SlidingCount sliding_;

  // A run of refusals: nothing was accepted in between.
  uint32_t run_ = 0;
  uint32_t since_refusal_ = 0;
  BootTime run_at_{};
  BootTime free_at_{};            // When the last real run (kRealRun) ended, or the first call started;
  double free_units_ = 0;         // accepted since then.
  bool first_run_ = true;         // No real run has ended yet.
  BootTime counted_at_{};         // When the last one of `run_` came.
  nanoseconds refusal_takes_{0};  // From a start to its refusal, as long as it took of late.
  double lost_ = 0;               // Seconds of pauses in this cycle.
  bool asked_ = false;            // The downstream asked for a pause in it,
  bool asked_long_ = false;       // that was long.
  uint32_t cuts_ = 0;             // In a cycle too short to measure anything.

  // Where each refusal costs a pause: see estimate_grown_by_order().
  bool by_order_ = false;
  double rest_ = kFirstRest;   // Seconds between two attempts to find more.
  double held_ = 0;            // This limit held for as long, before it was raised. 0: none did.
  bool burst_known_ = false;   // Something above it was refused soon.
  bool refused_soon_ = false;  // So was the last attempt.
  double top_ = 0;             // The highest limit that was confirmed,
  BootTime top_at_{};          // the last time then.

  // A window of some seconds that the downstream does not announce.
  double window_ = 0;         // Its length in seconds; 0: none is known.
  double quota_ = 0;          // Units that it allows.
  BootTime edge_at_{};        // When it began.
  double edge_units_ = 0;     // Accepted since then.
  double edge_before_ = 0;    // The same of the window before; below 0: a refusal began this one.
  double edge_within_ = 0;    // It began at most so many seconds earlier.
  bool quota_known_ = false;  // It was counted between two edges that are known well.
  double spread_ = kSpread;   // The quota is used up in that share of it.
  bool edge_proven_ = false;  // The last edge came when it was expected.
  uint32_t short_runs_ = 0;   // Real runs since the last edge that were too short to end with one.
  bool sprints_ = false;      // The quota has risen, by an unknown amount: see pass_edge().
  double edge_length_ = 0;    // Seconds between the last two ends of long runs.

  // A limit of calls under way.
  uint32_t cap_ = 0;
  uint32_t step_ = 1;
  bool cap_known_ = false;  // The downstream says so,
  BootTime cap_heard_{};    // the last time then.
  bool long_calls_ = false;
  int blame_ = 0;
  uint32_t blamed_ = 0;   // Calls under way at the last one, where calls take long,
  BootTime blamed_at_{};  // and when that was.
  int doubts_ = 0;
  BootTime doubted_at_{};
  BootTime no_cap_until_{};
  nanoseconds no_cap_for_{0};
  Most most_accepted_;

  // By what the downstream says of itself.
  double units_ = 0;             // Started and not refused, ever.
  BootTime heard_at_{};          // Start of the newest call whose answer said something.
  double said_ = 0;              // Its limit, in units a second; 0: not known.
  float reset_ = 0;              // The longest time until a reset, in seconds, from
  BootTime reset_from_{};        // then on,
  float reset_before_ = 0;       // and before.
  float shortest_reset_ = 1e9F;  // The shortest, from then on, and before.
  float shortest_reset_before_ = 1e9F;
  float reported_limit_ = 0;  // As in the headers.
  BootTime window_end_{};     // The end of a fixed window. In the past: not known.
  BootTime window_heard_{};   // When it was first heard of.
  bool window_known_ = false;
  double window_left_ = 0;   // Units that may start until then.
  BootTime level_at_{};      // At that time
  double level_ = 0;         // so many units were left,
  double level_total_ = 0;   // after so many were started;
  double most_left_ = 0;     // of late; decays.
  double inflow_ = 0;        // so many come in a second.
  double caution_ = 1;       // The rate is that share of it: fewer than wanted may be refused.
  BootTime shared_until_{};  // Others use it.
  BootTime steps_until_{};   // They came at once: it is a window.
};

}  // namespace freshet
