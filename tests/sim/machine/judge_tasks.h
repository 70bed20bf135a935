// Judges a queue by its promises: an acknowledged task vanishes only by an arrow in the books; at most one lease on a
// task is valid, and a stale holder is refused; attempts are exact; a take gives the newest; nothing starts after its
// deadline; what has ended stays ended; the books balance. Written from docs and DESIGN §8, not from the code.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/sim/machine/verdict.h"
#include "tests/sim/machine/wall_history.h"

namespace freshet::sim {

// When a request was sent and answered, on both clocks.
struct Span {
  BootTime sent{};
  BootTime answered{};
  WallTime wall_sent{};
  WallTime wall_answered{};
};

struct TakenTask {
  std::string id;
  std::string lease;
  int attempt = 0;
  milliseconds lease_time{0};
};

class TasksJudge {
 public:
  // `wall` outlives it.
  TasksJudge(Verdict& verdict, const WallHistory& wall) : verdict_(verdict), wall_(wall) {}
  // Newest first is not what the queue is set to do all the time.
  void ignore_order() { in_order_ = false; }
  // Ended tasks may be redriven: they lose a deadline that has passed, and live beside others of their key.
  void expect_redrives() { redrives_ = true; }
  // Jobs end the delay of tasks early.
  void expect_runs() { runs_ = true; }
  // Ended tasks go after a while (KEEP_MS, and not before), or whenever somebody purges them.
  void expect_removals() { removals_ = true; }
  void expect_full_store() { store_fills_up_ = true; }
  void expect_kept(milliseconds at_least) { kept_ = at_least; }
  // DEADLINE_MARGIN sheds before the deadline.
  void expect_margins() { margins_ = true; }
  // MaxAttempts of all deployments.
  void expect_attempts(int most) { most_attempts_ = most; }
  // A start takes longer: the leases of the daemon before are there for a while.
  void expect_slow_starts() { end_of_dead_ = seconds(60); }
  // The takes a second that RATE_LIMIT allows.
  void expect_rate(double a_second) { rate_ = a_second; }

  struct NewTask {
    std::string id;
    std::optional<WallTime> deadline;
    std::optional<milliseconds> deadline_in;  // Counted by the daemon: `deadline` is known once it has answered.
    bool delayed = false;
    milliseconds delay{0};
    bool has_ttl = false;  // TTL may take it away.
    seconds ttl{0};
    bool ranked = false;  // It has a group or a priority: other tasks may rightly go first.
    std::string key;      // One producer makes all tasks of a key, one after the other.
    bool replaces = false;
  };
  void begin_create(const NewTask& task);
  void created(const std::string& id, const Span& span);
  // The answer names a task of the same key that lives, or lived when the request was sent.
  void kept_for_key(const std::string& id, const std::string& other, const Span& span);
  void create_refused(const std::string& id);  // Certainly not done.
  // True if it may have been removed from the table.
  bool may_be_gone(const std::string& id) const { return may_be_gone(tasks_.at(id)); }

  // Takes have numbers of their own. A lease names the daemon that gave it: a new one ends those of the ones before.
  uint64_t begin_take(BootTime now);
  void taken(const TakenTask& task, const Span& span);
  void take_over(uint64_t take);
  // A take without an answer may have taken anything, for that long.
  void take_unknown(uint64_t take, const Span& span, milliseconds lease);
  // An event for a function was lost on its way: any task that is there may have had an attempt.
  void event_lost(BootTime now);
  enum class Outcome { kComplete, kFail, kRelease, kHeartbeat };
  // The queue is paused, as a request was told at that time; a request to resume it is about to be sent.
  void paused(BootTime answered) { paused_since_ = answered; }
  void resuming() { paused_since_.reset(); }
  void begin_settle(const std::string& id, const std::string& lease, Outcome outcome);
  // `status`: what the task is then. `delay`: how long it was asked to wait, if it was.
  void settled(const std::string& id, const std::string& lease, Outcome outcome, const std::string& status,
               const Span& span, std::optional<milliseconds> delay);
  void settle_unknown(const std::string& id);
  // The answer says that the task is not held under this lease. Not for one that may have been settled before.
  void settle_refused(const std::string& id, const std::string& lease, const Span& span);
  // A read shows the task as held under this lease.
  void held(const std::string& id, const std::string& lease, const Span& span) const;
  // True if this daemon gave out that lease, and the answer was there at `sent`: it counts the task as held by itself
  // (docs/metrics.md, freshet_queue_running) for as long as the task is TAKEN under it.
  bool is_of_this_daemon(const std::string& id, const std::string& lease, BootTime sent) const;
  void begin_cancel(const std::string& id, BootTime now);
  void cancelled(const std::string& id, const std::string& status, const Span& span);

  // The runner was handed a task. No answer to it is known yet.
  void started_by_runner(const std::string& id, int attempt, WallTime now, BootTime boot);
  // The whole machine stood still: what was on its way to a runner arrives afterwards.
  void machine_paused(WallTime began, WallTime ended) {
    pause_began_ = began;
    pause_ended_ = ended;
  }
  // The wall clock was set, or a life ended: order and deadlines cannot be judged across it.
  void disturbed(BootTime now) {
    disturbance_before_ = last_disturbance_;
    last_disturbance_ = now;
    doubted_ = false;
  }
  void clock_stepped(milliseconds by, BootTime now);
  // The wall clock was set forward by more than a minute: the daemon does not believe it for another minute.
  void clock_is_doubted() { doubted_ = true; }
  // A daemon starts: delays go by the wall clock from then on, and a rate's burst is there again.
  void life_begins(BootTime now) { life_began_ = now; }
  BootTime life_began() const { return life_began_; }

  // True once it is SUCCESS for sure.
  bool has_ended(const std::string& id) const;
  // A task as a read shows it; no status: there is none. `had_ended`: has_ended() as of when the read was sent.
  void seen(const std::string& id, const std::optional<std::string>& status, bool had_ended, const Span& span);
  // Depth by state and flow by arrow, as the stats say.
  void stats(const std::map<std::string, int64_t>& depth, const std::map<std::string, int64_t>& flow);
  // True if a create was answered after that time.
  bool created_after(BootTime time) const;
  // At the end: nothing waits, and each acknowledged task without ttl is there.
  void at_rest(const std::map<std::string, std::string>& status_of_all, const Span& span);

  const std::set<std::string>& acknowledged() const { return acknowledged_; }
  // Those that were created for sure not long ago.
  const std::deque<std::string>& created_lately() const { return created_lately_; }
  // Those that are SUCCESS for sure since not long ago.
  const std::deque<std::string>& ended_lately() const { return ended_lately_; }

 private:
  struct Task {
    NewTask facts;
    bool acknowledged = false;
    Span created;
    std::string lease;  // The last one that was handed out; "" if none, or if it was given up.
    BootTime lease_sure_until{};
    milliseconds lease_time{0};
    std::string lease_giver;
    std::string given;  // The last lease that was handed out, whatever became of it; when its take was sent.
    BootTime given_sent{};
    BootTime given_answered{};
    int attempts = 0;                 // The highest that was seen.
    int attempt = 0;                  // That of the last lease.
    std::optional<int> next_attempt;  // As its last settlement left it, which was sent then.
    BootTime settled{};
    BootTime not_before{};              // Delayed until then at least.
    std::optional<BootTime> cancelled;  // For sure since then: it is not started again.
    std::optional<BootTime> stopped;    // It was CANCELLED for sure then, and not held any more.
    bool touched_by_cancel = false;
    std::string replaced_by;
    BootTime replaced{};
    std::optional<WallTime> earliest_deadline;
    BootTime ended_after{};  // When the request was sent that completed it.
    WallTime ended_wall{};
    bool ended = false;      // SUCCESS, for sure.
    BootTime known_ended{};  // Since then.
    bool touched = false;    // Taken, settled or cancelled by somebody, perhaps: no longer surely PENDING.
    BootTime touched_by{};   // When the request was sent that did it.
    std::set<std::string> leases;
  };
  // A take that gave `id` although others seem to be newer. Those may have been taken at the same time: it is judged
  // once all takes that overlapped with it have been answered.
  struct Doubt {
    std::string id;
    Span span;
    std::set<std::string> newer;
    std::set<uint64_t> overlapping;
  };
  bool ttl_is_over(const Task& task, const Span& span) const;
  bool keep_is_over(const Task& task, const Span& span) const;
  // True if it is CANCELLED for sure while that request is under way, and stays so.
  bool stays_cancelled(const Task& task, const Span& span) const;
  void check_order(const Task& task, const Span& span);
  void judge(const Doubt& doubt);
  void check_start(const Task& task, const Span& span);
  void check_attempt(Task& task, int attempt, const Span& span);
  void check_rate(const Span& span);
  void judge_new_of_key(const Task& task, const Span& span);

  Verdict& verdict_;
  const WallHistory& wall_;
  std::map<std::string, Task> tasks_;
  std::map<std::string, BootTime> givers_;  // When each daemon gave out its last lease.
  std::set<std::string> acknowledged_;
  std::deque<std::string> created_lately_;
  std::deque<std::string> ended_lately_;
  // Acknowledged, never touched, without delay, ttl or deadline: surely PENDING. By when they were acknowledged.
  std::map<BootTime, std::set<std::string>> surely_pending_;
  BootTime unsure_until_{};  // Takes without an answer may hold anything until then.
  WallTime pause_began_{};   // The last pause of the machine.
  WallTime pause_ended_{};
  BootTime last_disturbance_{};
  BootTime disturbance_before_{};
  BootTime nudged_{};                     // The last small step of the wall clock.
  bool doubted_ = false;                  // Since the last disturbance.
  std::optional<BootTime> paused_since_;  // For sure.
  std::map<uint64_t, BootTime> takes_;    // Without an answer yet; when they were sent.
  uint64_t last_take_ = 0;
  std::vector<Doubt> doubts_;
  bool in_order_ = true;
  bool redrives_ = false;
  bool runs_ = false;
  bool removals_ = false;
  bool store_fills_up_ = false;
  bool margins_ = false;
  std::optional<milliseconds> kept_;
  double rate_ = 0;
  int most_attempts_ = 4;
  seconds end_of_dead_{5};  // A start has only begun to look.
  std::deque<Span> rated_;  // One for each task that was taken lately.
  BootTime life_began_{};
  std::map<std::string, std::vector<std::string>> of_key_;  // The acknowledged tasks of each key, in their order.
  bool surely_lives(const std::string& id) const;
  bool may_be_gone(const Task& task) const;
  // True if it has not been there for so long, by a clock that nobody has set, although the daemon may not believe the
  // wall clock.
  bool is_too_early(const Task& task, milliseconds time, const Span& span) const;
  void touch(Task& task, BootTime by);
};

}  // namespace freshet::sim
