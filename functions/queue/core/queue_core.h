// QueueCore: the parts of a queue, and the decisions that need several of them. Pure state: no store, clock, coroutine
// or log; the time is passed in. Loop thread.
//
// The shell (functions/queue/shell) reads, writes and waits. It reports to the parts what happened, and asks this class
// what a take may do with the tasks that it read. The parts do not know each other; only this class and the shell pass
// facts between them. docs/ARCHITECTURE.md, "The core of a queue", says which part owns what.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/queue/core/admission.h"
#include "functions/queue/core/adopter.h"
#include "functions/queue/core/agenda.h"
#include "functions/queue/core/claims.h"
#include "functions/queue/core/delays.h"
#include "functions/queue/core/keys.h"
#include "functions/queue/core/lanes.h"
#include "functions/queue/core/limits.h"
#include "functions/queue/core/shedder.h"
#include "functions/queue/core/task_times.h"
#include "functions/queue/pauses.h"

namespace freshet {

// The current time, and how far the wall clock is trusted.
struct Now {
  WallTime wall{};
  BootTime boot{};
  WallTime earliest{};   // A task that expires by then has certainly expired: WallGuard::earliest().
  WallTime latest{};     // A task that expires by then may have expired: WallGuard::latest().
  bool doubted = false;  // The wall clock is not trusted.
};

// The step of a take for one task that it read.
struct TakeStep {
  ItemRef task;
  std::string lease = {};                  // The lease of a claim; empty: the task is ended.
  std::string_view shed_reason = {};       // The reason, if the task is shed.
  std::shared_ptr<KeyCall> key_call = {};  // The charge if the limits of its group or key count it.
  std::shared_ptr<RatedCall> call = {};    // The charge if RATE_LIMIT counts it.
};

struct TakePlan {
  std::vector<TakeStep> steps;
  std::vector<EditItemInput> writes;  // One for each step.
  std::vector<ItemRef> marked;        // Tasks marked as replaced, for KeyedTasks::end_marked().
};

// The outcome of a plan, besides the tasks that were taken.
struct TakeOutcome {
  struct Shed {
    ItemRef task;
    std::string_view reason;
  };
  struct TooLarge {
    ItemRef task;
    std::string why;
  };
  struct TaskAndLease {
    std::string id;
    std::string lease;
  };
  std::vector<Shed> shed;
  std::vector<ItemRef> ended;        // Tasks without an attempt left: now DEAD, as stored.
  std::vector<TooLarge> too_large;   // Tasks without room for the write: they must be set aside.
  std::optional<Error> failed;       // The last error, if the store failed.
  std::vector<TaskAndLease> unsure;  // Claims that may have been made: the outcome is unknown.
};

class QueueCore {
 public:
  // `table`, the settings and the random numbers outlive this. `node` and `incarnation` name this daemon.
  QueueCore(const std::string& table, const QueueSettings& settings, Random& random, std::string_view node,
            std::string_view incarnation);
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  // `ttl_in_milliseconds`: the table's `ttl` is in milliseconds. `lanes_by_deadline`: it has an index of lanes by
  // deadline.
  void table_is(bool ttl_in_milliseconds, bool lanes_by_deadline) {
    ttl_in_milliseconds_ = ttl_in_milliseconds;
    lanes_by_deadline_ = lanes_by_deadline;
  }
  // The table was deleted: forgets its tasks.
  void table_lost();

  // The reason why the task must not be started any more; empty if it may be. `margin`: the time that it needs before
  // its deadline.
  std::string_view expired(const ItemRef& task, WallTime now, nanoseconds margin = nanoseconds(0)) const;
  // True if takes go through that lane by deadline. An empty name is the whole queue.
  bool by_deadline(std::string_view lane) const {
    return settings_.order == Order::kDeadline && (lane.empty() || lanes_by_deadline_);
  }
  // True if takes go through that lane from its newest end. An empty name is the whole queue.
  bool newest_first_in(std::string_view lane, BootTime now) const {
    return settings_.order == Order::kDeadline ? !by_deadline(lane) : times.newest_first(now);
  }
  // True if ORDER=deadline gives the task up: it has lost its chance to be done in time, and waits to be shed at its
  // deadline.
  bool is_lost(const ItemRef& task, const Now& now);
  // True if the task's group or key is paused.
  bool is_paused(const ItemRef& task) const;
  // True if a take must pass the task over because of its key.
  bool waits_for_key(const ItemRef& task);
  // True if the task looks too late by a wall clock that is not trusted. It is then neither started nor shed. Must be
  // true for every task that the processor refuses as stale, or the processor would give the task back and take it
  // again at once.
  bool is_doubtful(const ItemRef& task, const Now& now);
  // True if the task must not be taken now, although it is PENDING.
  bool is_passed_over(const ItemRef& task, const Now& now);
  // The number of tasks that the next page may have to pass over: its length is increased by that.
  size_t passed_by_now() const { return claims.in_flight() + keys.passed() + pauses.keys(); }
  // True if a take may choose the task in addition to those that it has chosen. A task that is too late needs no room,
  // as it is shed.
  bool has_room(const ItemRef& task, ChosenByName& chosen, const Now& now);

  // Plans what a take does with the tasks that it found, in their order; at most `wanted` are claimed. `more`: others
  // may follow them. Claims in flight count for RATE_LIMIT. Pauses and limits are those of now: they may have changed
  // while the tasks were read.
  TakePlan plan_take(const std::vector<ItemRef>& found, bool newest_first, bool more, size_t wanted, TakeInput& input,
                     const Now& now);
  // The writes of the plan were answered. The tasks that were taken are added to `taken`.
  TakeOutcome take_answered(TakePlan& plan, std::vector<Result<WriteOutput>>& answers, const TakeInput& input,
                            const Now& now, std::vector<TakenTask>& taken);

 private:
  const std::string& table_;
  const QueueSettings& settings_;
  bool ttl_in_milliseconds_ = false;
  bool lanes_by_deadline_ = false;

 public:
  Claims claims;
  Lanes lanes;
  Keys keys;
  Limits limits;
  Admission admission;
  Delays delays;
  Shedder shedder;
  Adopter adopter;
  TaskTimes times;
  Agenda agenda;
  Pauses pauses;
};

}  // namespace freshet
