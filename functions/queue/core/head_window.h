// HeadWindow: which end of the queue takes go from, how far ahead a task may be dated, and how much time a task needs.
// Pure state: no store, clock, coroutine or log; the time is passed in. Loop thread.
//
// On the embedded store the index is exact, so the heads themselves are read from there at each take and cost nothing
// to keep: take_choice.h asks for them.
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

class HeadWindow {
 public:
  // The settings outlive this.
  explicit HeadWindow(const QueueSettings& settings) : settings_(settings), order_(settings.order) {}
  HeadWindow(const HeadWindow&) = delete;
  HeadWindow& operator=(const HeadWindow&) = delete;

  // The creation time of a task that is created now: never before that of an earlier one, though the clock steps back.
  WallTime create(WallTime now) { return newest_ = std::max(newest_, now); }
  // A creation time that this daemon or an earlier one has given out.
  void recovered(WallTime created) { newest_ = std::max(newest_, created); }
  WallTime newest_created() const { return newest_; }
  // Tasks that are dated after that are not taken yet.
  WallTime bound(WallTime now) const { return std::max(now, newest_) + settings_.created_skew; }
  // The first task that is dated too far ahead; empty: there is none. Returns the wall time, in epoch ms, at which it
  // may be taken.
  int64_t dated_ahead(std::optional<int64_t> created_ms);
  // True if that task may be taken by now.
  bool has_come(WallTime now) const { return ahead_ms_ <= epoch_ms(bound(now)); }

  // The settings are others now.
  void follow_order() { order_.set(settings_.order); }
  // A take begins, and looks once which end it goes from: with ORDER=adaptive the order may turn around.
  void take_begins(BootTime now) { order_.take_begins(now, service_for_order(now)); }
  // True if a take that began now would go from the newest end.
  bool newest_first(BootTime now) const { return order_.newest_first(now, service_for_order(now)); }
  // A take has found the queue empty.
  void found_empty(BootTime now) { order_.found_empty(now); }
  // A take took the oldest task, which was created at that time.
  void took_oldest(int64_t created_ms, WallTime wall, BootTime now);

  // An attempt took that long from claim to success.
  void worked(nanoseconds took, BootTime now) { service_times_.add(took, now); }
  // How long nine of ten attempts, and one of ten, took at most; 0: too little is known.
  nanoseconds p90(BootTime now) const { return service_times_.p90(now); }
  nanoseconds p10(BootTime now) const { return service_times_.p10(now); }
  // The margin before its deadline by which a task counts as too late. `last`: nothing else waits.
  nanoseconds margin(bool newest_first, bool last, BootTime now) const;

  // ORDER=deadline. Tasks whose deadline is not before that time have enough time.
  WallTime enough(WallTime wall, BootTime now) { return urgency_.enough(service_times_, fine_.at(wall, now), now); }
  // True if a task that has not enough time is worth a slot that has nothing better to do.
  bool is_worth_it(WallTime created, WallTime deadline, WallTime wall, BootTime now);
  // A task with a deadline is started.
  void started(WallTime created, WallTime deadline, WallTime wall, BootTime now);

  // The table is gone, and so are the tasks that were dated ahead.
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
