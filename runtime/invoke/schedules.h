// Schedules invoke functions asynchronously at set times. The time of the last firing is written together with the
// event, so that none is fired twice or forgotten. If the daemon was down at several of these times, the schedule fires
// once for all of them. Times are wall time, checked at least every minute, so that schedules follow a clock that is
// set. While the clock is not trusted (base/wall_guard.h), time goes on as before. If the clock is set back by a minute
// or less, schedules do not fire again; after a larger step a schedule goes on from the new time. An at() fires once. A
// schedule that is switched on again continues from that time: times that passed while it was off do not fire.
//
// In a fleet, one daemon fires a schedule each time, and the daemons need not agree beforehand which one: whoever finds
// it due claims it in the shared store (tables/lease/schedule_claims.h). The event and the number of the claim are then
// written together in the daemon's own store, so that a daemon that ended in between fires after its next start. A
// daemon claims nothing while its clock is not trusted. One that gets a schedule anew, or switches it on, fires nothing
// for the time before.
//
// Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
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
#include "tables/lease/schedule_claims.h"
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

  // The schedules are those of a fleet, in which `daemon` names this daemon. Nothing fires while `may_fire` returns
  // false. Call it before load().
  void share(std::string daemon, std::function<bool()> may_fire);
  Async<Result<void>> load();  // Loads the schedules of the system table and starts them. Call it once, first.
  Async<Result<void>> put(ScheduleDefinition schedule);
  Async<Result<void>> remove(std::string name);  // kNotFound.
  std::vector<ScheduleDefinition> list() const;
  std::vector<ScheduleState> states() const;
  void pause();                              // Fires no more schedules.
  bool busy() const { return claims_ > 0; }  // In a fleet: true while claims and firings are being written.
  void end_all();                            // Also ends the firings in progress.

 private:
  struct Entry {
    ScheduleDefinition definition;
    ScheduleExpression expression;
    WallTime start{};  // When it was made: rates count from here.
    WallTime last{};   // When it last fired, started, or was switched on again.
    TimerId timer = 0;
    // In a fleet: the schedule as the shared store has it; empty until it has been read, and after a claim that failed.
    std::optional<ScheduleTimes> seen = {};
    // The number of the newest claim of this daemon that it has fired; empty until it has read its claims.
    std::optional<uint64_t> claimed = {};
    bool is_stored = true;                 // False while the own store lacks what was read last.
    std::optional<WallTime> refused = {};  // The `last` on which a claim was refused.
  };
  // A time at which a schedule is due.
  struct Firing {
    ScheduleDefinition definition;
    WallTime time{};                // When it is due,
    WallTime last{};                // and when it fires, which may be later.
    std::optional<uint64_t> claim;  // In a fleet.
  };
  struct Fleet {
    std::string daemon;
    std::function<bool()> may_fire;
    bool has_table = false;
    std::map<std::string, std::string> errors;  // By schedule: the error that was logged last.
    // By event_key(): the event of a firing that may be written already. A next try writes the same one.
    std::map<std::pair<std::string, uint64_t>, PreparedEvent> events;
  };

  void add(Entry entry);
  static bool has_fired(const Entry& entry);
  static void follow(Entry& entry, WallTime now);
  void arm(Entry& entry);
  void arm_after(Entry& entry, nanoseconds wait);
  void due(const std::string& name);
  static std::pair<std::string, uint64_t> event_key(const Firing& firing);
  void forget_events(const std::string& name);
  Result<PreparedEvent> event_for(const Firing& firing, std::string payload);
  Async<void> fire(Firing firing);
  Async<void> fired(Firing firing, bool is_done);
  Entry* find(const ScheduleDefinition& definition);
  Item state_of(const Entry& entry) const;

  // In a fleet.
  Async<void> look(ScheduleDefinition definition);
  Async<Result<ScheduleTimes>> read_shared(std::string id, WallTime start, WallTime last);
  Async<bool> learn(ScheduleDefinition definition, ScheduleTimes times);
  Async<void> claim(Firing firing);
  void failed(const std::string& name, const Error& error);
  void look_later(const ScheduleDefinition& definition);
  std::string event_of(const ScheduleDefinition& schedule, WallTime time);

  const Parts parts_;
  std::optional<Fleet> fleet_;
  std::map<std::string, Entry> entries_;
  std::set<std::string> firing_;  // Schedules that are firing now; each is armed again afterwards.
  size_t claims_ = 0;
  bool paused_ = false;
  Scope work_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
