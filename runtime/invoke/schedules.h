// Schedules invoke functions asynchronously at set times. The time of the last firing is written together with the
// event, so that none is fired twice or forgotten. If the daemon was down at several of these times, the schedule fires
// once for all of them. Times are wall time, checked at least every minute, so that schedules follow a clock that is
// set. While the clock is not trusted (base/wall_guard.h), time goes on as before. If the clock is set back by a minute
// or less, schedules do not fire again; after a larger step a schedule goes on from the new time. An at() fires once. A
// schedule that is switched on again continues from that time: times that passed while it was off do not fire. Loop
// thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wall_guard.h"
#include "runtime/deploy/schedule_expression.h"
#include "runtime/invoke/definitions.h"
#include "streams/arn.h"
#include "streams/delivery_queue.h"
#include "tables/tables.h"

namespace freshet {

class Schedules {
 public:
  // All must outlive it.
  struct Parts {
    Tables& tables;
    Scheduler& scheduler;
    Random& random;
    DeliveryQueue& queue;
    Account account;
    EventLog log;
    WallGuard& wall;
  };
  explicit Schedules(Parts parts) : parts_(std::move(parts)) {}
  Schedules(const Schedules&) = delete;
  Schedules& operator=(const Schedules&) = delete;
  ~Schedules();

  Async<Result<void>> load();  // Loads the schedules of the system table and starts them. Call it once, first.
  Async<Result<void>> put(ScheduleDefinition schedule);
  Async<Result<void>> remove(std::string name);  // kNotFound.
  std::vector<ScheduleDefinition> list() const;
  std::vector<ScheduleState> states() const;
  void pause();    // Fires no more schedules.
  void end_all();  // Also ends the firings in progress.

 private:
  struct Entry {
    ScheduleDefinition definition;
    ScheduleExpression expression;
    WallTime start{};  // When it was made: rates count from here.
    WallTime last{};   // When it last fired, started, or was switched on again.
    TimerId timer = 0;
  };

  void add(Entry entry);
  static void follow(Entry& entry, WallTime now);
  void arm(Entry& entry);
  void due(const std::string& name);
  Async<void> fire(std::string name, WallTime time);
  Async<void> fired(std::string name, ScheduleDefinition definition, std::optional<WallTime> last);
  std::string event_of(const ScheduleDefinition& schedule, WallTime time);

  const Parts parts_;
  std::map<std::string, Entry> entries_;
  std::set<std::string> firing_;  // Schedules that are firing now; each is armed again afterwards.
  bool paused_ = false;
  Scope work_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
