// TaskTimes: the creation times that this queue gave to tasks, how long tasks took, and what follows from both: which
// end of the queue takes go from, the margin before a deadline, and how far ahead a task may be dated.
// Pure state: no store, clock, coroutine or log; the time is passed in. Loop thread.
//
// policy/take_order.h and policy/urgency.h are the orders; docs/policies.md says how to choose one.
#pragma once

#include <optional>
#include <string_view>

#include "functions/queue/core/wall_times.h"
#include "functions/queue/policy/service_time.h"
#include "functions/queue/policy/take_order.h"
#include "functions/queue/policy/urgency.h"
#include "functions/settings.h"
#include "tables/value/item_ref.h"

namespace freshet {

class TaskTimes {
 public:
  // The settings outlive this.
  explicit TaskTimes(const QueueSettings& settings) : settings_(settings), order_(settings.order) {}
  TaskTimes(const TaskTimes&) = delete;
  TaskTimes& operator=(const TaskTimes&) = delete;

  // Returns the creation time for a task that is created now. Creation times never go back, even if the clock does.
  WallTime create(WallTime now) { return newest_ = std::max(newest_, now); }
  // Notes a creation time that this daemon or an earlier one gave to a task.
  void recovered(WallTime created) { newest_ = std::max(newest_, created); }
  WallTime newest_created() const { return newest_; }
  // A task that is dated after this time is not taken yet.
  WallTime bound(WallTime now) const { return std::max(now, newest_) + settings_.created_skew; }
  // Notes the first task that is dated too far ahead; empty: there is none. Returns the wall time, in epoch ms, at
  // which it may be taken.
  int64_t dated_ahead(std::optional<int64_t> created_ms);
  // True if that task may be taken by now.
  bool has_come(WallTime now) const { return ahead_ms_ <= epoch_ms(bound(now)); }

  // The settings have changed: uses their order from now on.
  void follow_order() { order_.set(settings_.order); }
  // A take begins. Only this can turn the order around, with ORDER=adaptive.
  void take_begins(BootTime now) { order_.take_begins(now, service_for_order(now)); }
  // True if a take that began now would go from the newest end.
  bool newest_first(BootTime now) const { return order_.newest_first(now, service_for_order(now)); }
  // A take has found the queue empty.
  void found_empty(BootTime now) { order_.found_empty(now); }
  // A take took the oldest task, which was created at `created_ms`.
  void took_oldest(int64_t created_ms, WallTime wall, BootTime now);

  // An attempt that succeeded took that long, from its claim on.
  void worked(nanoseconds took, BootTime now) { service_times_.add(took, now); }
  // The 90th and 10th percentiles of how long attempts took; 0: too little is known.
  nanoseconds p90(BootTime now) const { return service_times_.p90(now); }
  nanoseconds p10(BootTime now) const { return service_times_.p10(now); }
  // A task that starts less than this before its deadline counts as too late. `last`: nothing else waits.
  nanoseconds margin(bool newest_first, bool last, BootTime now) const;

  // For ORDER=deadline. A task whose deadline is at this time or later has enough time left.
  WallTime enough(WallTime wall, BootTime now) { return urgency_.enough(service_times_, fine_.at(wall, now), now); }
  // True if a task without enough time left may still use a slot that no other task needs.
  bool is_worth_it(WallTime created, WallTime deadline, WallTime wall, BootTime now);
  // A task with a deadline is started.
  void started(WallTime created, WallTime deadline, WallTime wall, BootTime now);

  // The table was deleted, and with it the tasks that were dated ahead.
  void table_lost() { ahead_ms_ = kNeverMs; }

 private:
  // Only ORDER=adaptive asks for the service times.
  nanoseconds service_for_order(BootTime now) const {
    return settings_.order == Order::kAdaptive ? p90(now) : nanoseconds(0);
  }

  const QueueSettings& settings_;
  WallTime newest_{};            // The newest creation time that was given out. What clients wrote does not count.
  int64_t ahead_ms_ = kNeverMs;  // `taskCreated` of the first task that is dated too far ahead.
  TakeOrder order_;
  ServiceTimes service_times_;
  FineWall fine_;
  Urgency urgency_;
};

}  // namespace freshet
