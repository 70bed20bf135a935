// QueueCore: the parts of a queue, and the decisions that need several of them. Pure state: no store, clock, coroutine
// or log; the time is passed in. Loop thread.
//
// The shell (functions/queue/shell) reads, writes and waits. It tells the parts what happened, and asks this class what
// a take may do with the tasks that it read. The parts do not know each other; only this class and the shell pass facts
// between them. docs/ARCHITECTURE.md, "The core of a queue", says which part owns what.
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

// The time at which something happens, and what is known of the wall clock then.
struct Now {
  WallTime wall{};
  BootTime boot{};
  WallTime earliest{};   // A task that expires by then has certainly expired: WallGuard::earliest().
  bool doubted = false;  // The wall clock is not trusted.
};

// A take does this with one task that it read.
struct TakeStep {
  ItemRef task;
  std::string lease = {};                  // The lease of a claim; empty: the task is ended.
  std::string_view shed_reason = {};       // The reason if the task is shed.
  std::shared_ptr<KeyCall> key_call = {};  // The charge if the limits of its group or key count it.
  std::shared_ptr<RatedCall> call = {};    // The charge if RATE_LIMIT counts it.
};

struct TakePlan {
  std::vector<TakeStep> steps;
  std::vector<EditItemInput> writes;  // One for each step.
  std::vector<ItemRef> marked;  // Tasks that were marked as replaced: KeyedTasks::end_marked() looks at their key.
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
  std::vector<ItemRef> ended;        // No attempt was left: DEAD, as stored.
  std::vector<TooLarge> too_large;   // The task has no room for the write: it must be set aside.
  std::optional<Error> failed;       // The store failed; the last error.
  std::vector<TaskAndLease> unsure;  // Claims that may have been made: the store did not say.
};

class QueueCore {
 public:
  // `table`, the settings and the random numbers outlive this. `node` and `incarnation` name this daemon.
  QueueCore(const std::string& table, const QueueSettings& settings, Random& random, std::string_view node,
            std::string_view incarnation);
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  // `ttl_in_milliseconds`: the table's `ttl` is. `lanes_by_deadline`: it has an index of lanes by deadline.
  void table_is(bool ttl_in_milliseconds, bool lanes_by_deadline) {
    ttl_in_milliseconds_ = ttl_in_milliseconds;
    lanes_by_deadline_ = lanes_by_deadline;
  }
  // The table is gone, and so is what was known of its tasks.
  void table_lost();

  // Why the task must not be started any more; empty if it may be. `margin`: before its deadline.
  std::string_view expired(const ItemRef& task, WallTime now, nanoseconds margin = nanoseconds(0)) const;
  // True if takes go through that lane by deadline; empty: through the queue.
  bool by_deadline(std::string_view lane) const {
    return settings_.order == Order::kDeadline && (lane.empty() || lanes_by_deadline_);
  }
  // True if takes go through that lane from its newest end; empty: through the queue.
  bool newest_first_in(std::string_view lane, BootTime now) const {
    return settings_.order == Order::kDeadline ? !by_deadline(lane) : times.newest_first(now);
  }
  // True if ORDER=deadline leaves the task to its deadline, as its chance to be done in time is lost.
  bool is_lost(const ItemRef& task, const Now& now);
  // True if the task's group or key is paused.
  bool is_paused(const ItemRef& task) const;
  // True if a take must pass the task over for its key.
  bool waits_for_key(const ItemRef& task);
  // True if the task looks too late by a wall clock that is not trusted: then it is neither started nor shed. All that
  // the processor refuses as stale must count here, or it would give the task back and take it again at once.
  bool is_doubtful(const ItemRef& task, const Now& now);
  // True if the task is not to be taken now, although it is PENDING.
  bool is_passed_over(const ItemRef& task, const Now& now);
  // How many tasks the next page may have to pass over, as far as it is known: it is made that much longer.
  size_t passed_by_now() const { return claims.in_flight() + keys.passed() + pauses.keys(); }
  // True if a take may choose the task beside those that it has chosen. A task that is too late needs no room: it is
  // shed.
  bool has_room(const ItemRef& task, ChosenByName& chosen, const Now& now);

  // Plans what a take does with the tasks that it found, in their order; at most `wanted` are claimed. `more`: others
  // may follow them. Claims that are not answered yet count for RATE_LIMIT, and for pauses and limits what holds now:
  // both may have changed while the tasks were read.
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
