// The highest rate of starts that a downstream does not refuse, learnt from what it refuses (RATE_LIMIT=adaptive). Pure
// state with an explicit now. It takes about a kilobyte, so that each key may have one.
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

  // Both are in units per second; 0 < least <= most.
  AdaptiveRate(double least, double most);
  // Sets new bounds. What was learnt stays, within them.
  void set_bounds(double least, double most);

  // Goes on from what was learnt before a restart, and begins a little below it, as after a refusal. `highest`: see
  // highest(). Call it before the first start.
  void go_on(double rate, size_t concurrency, double highest, BootTime now);

  // How many of `wanted` calls of one unit each may start now.
  size_t allowed(BootTime now, size_t wanted) const;
  // When the next call may start if no answer comes before: `now` or later. An hour from now if only the end of a call
  // can make room.
  BootTime next(BootTime now) const;

  // A call starts that costs `units`. A call of more than one unit delays the next start accordingly.
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
  static constexpr double kEach = 80;  // A refusal costs this many accepted units before the rate grows again.
  static constexpr double kMostDebt = 4 * kEach;
  static constexpr double kFirstRest = 10;
  static constexpr double kHope = 0.7;
  static constexpr seconds kLongCall{5};
  // A shorter run of refusals may only seem to have ended: the call that ended it may still be refused.
  static constexpr milliseconds kRealRun{500};
  static constexpr double kSteep = 0.09;
  static constexpr double kSpread = 0.98;
  static constexpr seconds kOutage{90};  // A longer run of refusals is an outage, which tells nothing about the rate.
  static constexpr double kStage = 4;    // The rate grows by this factor at most; see grown_far().

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
  // True if calls in flight are the only limit, which holds for a learnt one. If the downstream announces such a limit,
  // there may be a rate, too.
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
    double accepted;  // In units.
    double lasted;    // In seconds, without idle time.
    double paused;    // The seconds for which the downstream had asked for a pause.
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
  double burst_ = 0;                          // The size of the downstream's bucket, in seconds of the limit.
  bool jumped_ = false;                       // The last estimate came after a growth of the rate.
  double last_units_ = 0, last_seconds_ = 0;  // Units accepted in the last cycle, and its length.
  bool grew_ = false;                         // A growth of the rate ended in this cycle.
  double grew_from_ = 1;                      // The rate at which that growth began.
  double grew_for_ = 0;                       // Its length in seconds; 0: it has been evaluated.
  bool searching_ = true;                     // Nothing was refused yet.
  double proven_ = 0;                         // The highest accepted rate during the search.
  bool growing_ = true;
  BootTime grew_at_{};   // When the rate last grew; idle time moves it on.
  double debt_ = 0;      // Units to be accepted before the rate grows again.
  BootTime cycle_at_{};  // The end of the last run of refusals.
  double cycle_units_ = 0;
  nanoseconds idle_{0};  // The part of the cycle in which nobody wanted to start anything.
  double steepness_ = kSteep;
  double grown_ = 0;     // The length of the current growth, in seconds.
  double cut_rate_ = 0;  // The accepted rate in the last second of the last growth.
  Recent recent_{milliseconds(250)};
  Recent long_{seconds(2)};
  SlidingCount sliding_;

  // A run of refusals: nothing was accepted in between.
  uint32_t run_ = 0;
  uint32_t since_refusal_ = 0;
  BootTime run_at_{};
  BootTime free_at_{};            // When the last real run (kRealRun) ended, or the first call started.
  double free_units_ = 0;         // Units accepted since `free_at_`.
  bool first_run_ = true;         // No real run has ended yet.
  BootTime counted_at_{};         // When the last refusal counted in `run_` came.
  nanoseconds refusal_takes_{0};  // The longest recent time from a start to its refusal.
  double lost_ = 0;               // Seconds of short pauses (kShortPause) in this cycle.
  bool asked_ = false;            // The downstream asked for a pause in this cycle.
  bool asked_long_ = false;       // It asked for a pause longer than kShortPause.
  uint32_t cuts_ = 0;             // Cycles in a row that were too short to measure anything.

  // For a downstream that asks for a short pause when it refuses: see estimate_grown_by_order().
  bool by_order_ = false;
  double rest_ = kFirstRest;   // Seconds between two attempts to raise the rate.
  double held_ = 0;            // The limit before the last growth, if it held for kHeld; else 0.
  bool burst_known_ = false;   // `burst_` is known: a higher limit was refused soon.
  bool refused_soon_ = false;  // The last attempt was refused soon.
  double top_ = 0;             // The highest confirmed limit: see highest().
  BootTime top_at_{};          // When `top_` was last confirmed.

  // A fixed window that the downstream does not announce (adaptive_rate_window.cc). An edge is the moment at which one
  // window ends and the next begins.
  double window_ = 0;         // Its length in seconds; 0: none is known.
  double quota_ = 0;          // Units that each window allows.
  BootTime edge_at_{};        // When the current window began.
  double edge_units_ = 0;     // Units accepted since `edge_at_`.
  double edge_before_ = 0;    // Units of the window before; below 0: refusals ended at this edge.
  double edge_within_ = 0;    // The edge was at most this many seconds before `edge_at_`.
  bool quota_known_ = false;  // `quota_` was counted between two edges that are known well.
  double spread_ = kSpread;   // The quota is spread over this share of the window.
  bool edge_proven_ = false;  // The last edge came when it was expected.
  uint32_t short_runs_ = 0;   // Real runs since the last edge that were too short to end at an edge.
  bool sprints_ = false;      // The quota has risen, by an unknown amount: see pass_edge().
  double edge_length_ = 0;    // Seconds between the last two ends of long runs.

  // A limit of calls in flight.
  uint32_t cap_ = 0;
  uint32_t step_ = 1;
  bool cap_known_ = false;  // The downstream announced it.
  BootTime cap_heard_{};    // When it last did.
  bool long_calls_ = false;
  int blame_ = 0;
  uint32_t blamed_ = 0;   // For long calls: calls in flight at the last refusal that counted for `blame_`.
  BootTime blamed_at_{};  // When that refusal came.
  int doubts_ = 0;
  BootTime doubted_at_{};
  BootTime no_cap_until_{};
  nanoseconds no_cap_for_{0};
  Most most_accepted_;

  // The limit that the downstream reports (adaptive_rate_reported.cc).
  double units_ = 0;             // Units started and not refused since the beginning.
  BootTime heard_at_{};          // The start of the newest call whose answer reported a limit.
  double said_ = 0;              // The reported limit in units per second; 0: not known.
  float reset_ = 0;              // The longest reported time until a reset, in seconds.
  BootTime reset_from_{};        // `reset_` counts from here on.
  float reset_before_ = 0;       // The same for the time before.
  float shortest_reset_ = 1e9F;  // The shortest, from `reset_from_` on, and before.
  float shortest_reset_before_ = 1e9F;
  float reported_limit_ = 0;  // The limit as the last headers gave it.
  BootTime window_end_{};     // The reported end of a fixed window. In the past: none is known.
  BootTime window_heard_{};   // When that window was first reported.
  bool window_known_ = false;
  double window_left_ = 0;   // Units that may start until `window_end_`.
  BootTime level_at_{};      // The start of the call that reported `level_`.
  double level_ = 0;         // The units that were left then.
  double level_total_ = 0;   // `units_` just after that call started.
  double most_left_ = 0;     // The most units that were left recently; decays.
  double inflow_ = 0;        // Units that become free per second.
  double caution_ = 1;       // A factor of the rate: accepted units raise it, refusals lower it.
  BootTime shared_until_{};  // Until then, others count as users of the limit.
  BootTime steps_until_{};   // Until then, the limit counts as a window, as units came back all at once.
};

}  // namespace freshet
