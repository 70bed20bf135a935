// The one loop that owns all state.
//
// A turn: take what the mailbox holds; run_due() of every participant; timers that are due; ready work, until there is
// none left or the turn's bounds are reached; commit() of every participant. Then, if nothing is ready, wait for the
// next deadline or a delivery. Work posted during a turn runs in the same turn while its bounds last, so that a chain
// of short steps shares one commit.
//
// Bounds, and what happens at them:
// - `mailbox_bound`: the most works that are delivered and not yet taken. Beyond it, deliver() returns false and the
//   sender answers "busy". A turn takes mail only while fewer than `max_steps` works are ready, so the bound holds.
// - `max_steps` and `turn_budget`: the most works that a turn runs, and the most time that it spends on them. The rest
//   stays ready for the next turn, which follows at once. A single work is never interrupted.
// - Posted work and timers have no bound of their own: the code that posts work bounds it (each queue says how).
//
// Threads: deliver() and stop() from any; everything else on the loop's own thread (the one that calls run() or
// turn()).
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/durations.h"
#include "base/scheduler.h"
#include "runtime/loop/mail_queue.h"
#include "runtime/loop/waiter.h"

namespace freshet {

struct LoopOptions {
  size_t mailbox_bound = 65'536;
  size_t max_steps = 2'048;
  nanoseconds turn_budget = milliseconds(2);
};

struct LoopStats {
  uint64_t turns = 0;
  uint64_t works = 0;      // Posted, delivered and timed work that has run.
  DurationCounts steps;    // Time of a turn up to its commits.
  DurationCounts commits;  // The time that commits held up the loop.
  size_t mailbox_max = 0;  // The most works taken from the mailbox in one turn.
};

class Loop final : public Scheduler, public Mailbox {
 public:
  // Clock and waiter must outlive the loop. On a SimClock time stands still during a turn.
  Loop(const Clock& clock, Waiter& waiter, LoopOptions options = {});
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() override;

  void post(Work work) override;
  TimerId call_at(BootTime when, Work work) override;
  void cancel(TimerId id) override;
  const Clock& clock() const override { return clock_; }
  bool deliver(Work work) override;

  // Participants take part in every turn, in the order they were added, until removed. Not from within a turn.
  void add(TurnParticipant& participant);
  void remove(TurnParticipant& participant);

  // Runs turns until stop(), and commits the last one. Work that is still ready then does not run; it is destroyed with
  // the loop.
  void run();
  // From now on deliver() returns false, and run() returns after its current turn. Call it once; a stopped loop does
  // not run again.
  void stop();
  bool stopped() const { return stopping_.load(std::memory_order_relaxed); }

  // The parts of run(), for simulation. turn() runs one turn, without waiting.
  void turn();
  // True if a turn would find something to do now.
  bool ready() const;
  // The earliest deadline of a timer or participant; BootTime::max() for none.
  BootTime next_deadline() const;

  const LoopStats& stats() const { return stats_; }
  // When the current turn began (empty between turns), and which part of it is running. Any thread.
  std::optional<BootTime> turn_began() const;
  const char* part_of_turn() const { return part_.load(std::memory_order_relaxed); }
  size_t mailbox_depth() const { return mail_.depth(); }  // Any thread.
  size_t timers() const { return timers_.size(); }

 private:
  using TimerKey = std::pair<BootTime, TimerId>;

  void begin(const char* part) { part_.store(part, std::memory_order_relaxed); }
  void take_mail();
  void run_timers(BootTime now);
  void run_posted(BootTime started);

  const Clock& clock_;
  Waiter& waiter_;
  const LoopOptions options_;

  // Any thread.
  MailQueue mail_;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stopping_{false};
  static constexpr BootTime::rep kNoTurn = std::numeric_limits<BootTime::rep>::min();
  std::atomic<BootTime::rep> turn_began_{kNoTurn};
  std::atomic<const char*> part_{""};

  // Loop thread.
  std::vector<TurnParticipant*> participants_;
  std::deque<Work> posted_;
  absl::btree_map<TimerKey, Work> timers_;
  absl::flat_hash_map<TimerId, BootTime> timer_times_;
  TimerId last_timer_ = 0;
  LoopStats stats_;
};

}  // namespace freshet
