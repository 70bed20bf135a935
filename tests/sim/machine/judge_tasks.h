// Judges a queue by its promises: an acknowledged task disappears only by a transition that the books count; at most
// one lease on a task is valid, and an earlier holder is refused; attempts are exact; a take gives the newest task; no
// task starts after its deadline; an ended task stays ended; the books balance. Written from docs and DESIGN §8, not
// from the code.
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
  // The order of takes is not judged, because the queue is not always set to newest first.
  void ignore_order() { in_order_ = false; }
  // Ended tasks may be redriven. They then lose a deadline that has passed, and may live beside others of their key.
  void expect_redrives() { redrives_ = true; }
  // Jobs end the delay of tasks early.
  void expect_runs() { runs_ = true; }
  // Ended tasks are removed after KEEP_MS and not before, or when somebody purges them.
  void expect_removals() { removals_ = true; }
  void expect_full_store() { store_fills_up_ = true; }
  void expect_kept(milliseconds at_least) { kept_ = at_least; }
  // DEADLINE_MARGIN sheds before the deadline.
  void expect_margins() { margins_ = true; }
  // The largest MaxAttempts of all deployments.
  void expect_attempts(int most) { most_attempts_ = most; }
  // A start takes longer, so the leases of the daemon before stay valid for a while.
  void expect_slow_starts() { end_of_dead_ = seconds(60); }
  // The takes a second that RATE_LIMIT allows.
  void expect_rate(double a_second) { rate_ = a_second; }

  struct NewTask {
    std::string id;
    std::optional<WallTime> deadline;
    std::optional<milliseconds> deadline_in;  // The daemon counts it: `deadline` is known once it has answered.
    bool delayed = false;
    milliseconds delay{0};
    bool has_ttl = false;  // TTL may remove it.
    seconds ttl{0};
    bool ranked = false;  // It has a group or a priority, so other tasks may go first.
    std::string key;      // One producer creates all tasks of a key, one after the other.
    bool replaces = false;
  };
  void begin_create(const NewTask& task);
  void created(const std::string& id, const Span& span);
  // The answer names another task of the same key, which lives now or lived when the request was sent.
  void kept_for_key(const std::string& id, const std::string& other, const Span& span);
  void create_refused(const std::string& id);  // Certainly not done.
  // True if it may have been removed from the table.
  bool may_be_gone(const std::string& id) const { return may_be_gone(tasks_.at(id)); }

  // A take is about to be sent. Returns a number for it. A lease names the daemon that gave it; a new daemon ends the
  // leases of those before.
  uint64_t begin_take(BootTime now);
  void taken(const TakenTask& task, const Span& span);
  void take_over(uint64_t take);
  // A take got no answer: it may hold any task, for the time of a lease.
  void take_unknown(uint64_t take, const Span& span, milliseconds lease);
  // An event for a function was lost on its way: any existing task may have had an attempt.
  void event_lost(BootTime now);
  enum class Outcome { kComplete, kFail, kRelease, kHeartbeat };
  // paused(): a request to pause the queue was answered at that time. resuming(): a request to resume it is about to be
  // sent.
  void paused(BootTime answered) { paused_since_ = answered; }
  void resuming() { paused_since_.reset(); }
  void begin_settle(const std::string& id, const std::string& lease, Outcome outcome);
  // `status`: the task's status afterwards. `delay`: the delay in the request, if any.
  void settled(const std::string& id, const std::string& lease, Outcome outcome, const std::string& status,
               const Span& span, std::optional<milliseconds> delay);
  void settle_unknown(const std::string& id);
  // The answer says that the task is not held under this lease. Do not call it if an earlier settlement may have ended
  // the lease.
  void settle_refused(const std::string& id, const std::string& lease, const Span& span);
  // A read shows that the task is held under this lease.
  void held(const std::string& id, const std::string& lease, const Span& span) const;
  // True if this daemon gave out that lease, and the answer was there at `sent`: it counts the task as held by itself
  // (docs/metrics.md, freshet_queue_running) for as long as the task is TAKEN under it.
  bool is_of_this_daemon(const std::string& id, const std::string& lease, BootTime sent) const;
  void begin_cancel(const std::string& id, BootTime now);
  void cancelled(const std::string& id, const std::string& status, const Span& span);

  // The runner got a task, and has not answered yet.
  void started_by_runner(const std::string& id, int attempt, WallTime now, BootTime boot);
  // The whole machine stood still, so requests on their way to a runner arrived afterwards.
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
  // A daemon starts: from then on delays follow the wall clock, and the rate's burst is available again.
  void life_begins(BootTime now) { life_began_ = now; }
  BootTime life_began() const { return life_began_; }

  // True once the task is certainly SUCCESS.
  bool has_ended(const std::string& id) const;
  // A read shows the task with this status; no status means that it does not exist. `had_ended`: has_ended() when the
  // read was sent.
  void seen(const std::string& id, const std::optional<std::string>& status, bool had_ended, const Span& span);
  // Judges the queue's stats: depth by state, and flow by transition.
  void stats(const std::map<std::string, int64_t>& depth, const std::map<std::string, int64_t>& flow);
  // True if a create was answered after that time.
  bool created_after(BootTime time) const;
  // At the end: nothing may wait, and each acknowledged task without ttl must exist.
  void at_rest(const std::map<std::string, std::string>& status_of_all, const Span& span);

  const std::set<std::string>& acknowledged() const { return acknowledged_; }
  // Tasks that were certainly created, not long ago.
  const std::deque<std::string>& created_lately() const { return created_lately_; }
  // Tasks that certainly became SUCCESS, not long ago.
  const std::deque<std::string>& ended_lately() const { return ended_lately_; }

 private:
  struct Task {
    NewTask facts;
    bool acknowledged = false;
    Span created;
    std::string lease;  // The last lease that was handed out; "" if there is none, or if it was given up.
    BootTime lease_sure_until{};
    milliseconds lease_time{0};
    std::string lease_giver;
    std::string given;  // The last lease that was handed out, even if it has ended; when its take was sent.
    BootTime given_sent{};
    BootTime given_answered{};
    int attempts = 0;                 // The highest that was seen.
    int attempt = 0;                  // That of the last lease.
    std::optional<int> next_attempt;  // As its last settlement, sent at `settled`, left it.
    BootTime settled{};
    BootTime not_before{};              // Its delay ends then at the earliest.
    std::optional<BootTime> cancelled;  // Since then it is certainly cancelled, and must not start again.
    std::optional<BootTime> stopped;    // At that time it was certainly CANCELLED, and not held any more.
    bool touched_by_cancel = false;
    const Task* replaced_by = nullptr;
    BootTime replaced{};
    std::optional<WallTime> earliest_deadline;
    BootTime ended_after{};  // When the request that completed it was sent.
    WallTime ended_wall{};
    bool ended = false;      // Certainly SUCCESS.
    BootTime known_ended{};  // Since when `ended` is certain.
    bool touched = false;    // Somebody may have taken, settled or cancelled it, so it is not certainly PENDING.
    BootTime touched_by{};   // When the request that may have done so was sent.
    std::set<std::string> leases;
  };
  // A take that gave `id` although others seem to be newer. Other takes may have got those at the same time, so it is
  // judged once all takes that overlapped with it have been answered.
  struct Doubt {
    std::string id;
    Span span;
    std::set<std::string> newer;
    std::set<uint64_t> overlapping;
  };
  bool ttl_is_over(const Task& task, const Span& span) const;
  bool keep_is_over(const Task& task, const Span& span) const;
  // True if the task is certainly CANCELLED during that request, and stays so.
  bool stays_cancelled(const Task& task, const Span& span) const;
  void check_order(const Task& task, const Span& span);
  void judge(const Doubt& doubt);
  void check_start(const Task& task, const Span& span);
  void check_attempt(Task& task, int attempt, const Span& span);
  void check_rate(const Span& span);
  void judge_new_of_key(Task& task, const Span& span);

  Verdict& verdict_;
  const WallHistory& wall_;
  std::map<std::string, Task> tasks_;
  std::map<std::string, BootTime> givers_;  // When each daemon gave out its last lease.
  std::set<std::string> acknowledged_;
  std::deque<std::string> created_lately_;
  std::deque<std::string> ended_lately_;
  // Tasks that are certainly PENDING (acknowledged, never touched, without delay, ttl or deadline), by the time of the
  // acknowledgement.
  std::map<BootTime, std::set<std::string>> surely_pending_;
  BootTime unsure_until_{};  // Until then, takes without an answer may hold any task.
  WallTime pause_began_{};   // The last pause of the machine.
  WallTime pause_ended_{};
  BootTime last_disturbance_{};
  BootTime disturbance_before_{};
  BootTime nudged_{};                     // The last small step of the wall clock.
  bool doubted_ = false;                  // True if clock_is_doubted() was called since the last disturbance.
  std::optional<BootTime> paused_since_;  // The time from which on the queue is certainly paused.
  std::map<uint64_t, BootTime> takes_;    // Takes without an answer, and when they were sent.
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
  seconds end_of_dead_{5};  // The time in which a start ends the leases of the daemon before.
  std::deque<Span> rated_;  // One for each task that was taken lately.
  BootTime life_began_{};
  struct OfKey {
    std::vector<Task*> all;  // Acknowledged, in their order.
    size_t touched = 0;      // The number of the first ones that are touched.
  };
  std::map<std::string, OfKey> of_key_;
  bool surely_lives(const Task& task) const;
  bool may_be_gone(const Task& task) const;
  // True if less than `time` has certainly passed for the task, by a clock that nobody has set, even if the daemon does
  // not trust the wall clock.
  bool is_too_early(const Task& task, milliseconds time, const Span& span) const;
  void touch(Task& task, BootTime by);
};

}  // namespace freshet::sim
