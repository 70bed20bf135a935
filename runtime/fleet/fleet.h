// A daemon's membership in a fleet: it writes its heartbeats, reads the others', and starts and stops units as
// FleetCore decides. Units are names of things that one member at a time serves, such as queues.
//
// Loop thread. Tables, scheduler and FleetHooks outlive it. The destructor tells nobody: others take over when the
// lease has ended. Call leave() first if there is time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/async.h"
#include "base/log.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/fleet/clock_check.h"
#include "runtime/fleet/fleet_core.h"
#include "tables/tables.h"

namespace freshet {

struct FleetOptions {
  std::string id;            // Stays the same over restarts of this daemon; no other daemon has it.
  std::string url;           // The address at which other members reach it.
  milliseconds lease{3000};  // Others take over when they see no heartbeat for this time.
  // Returns how busy this member is, in percent; called for each heartbeat. Null: it is never busy.
  std::function<int()> load = nullptr;
};

class FleetHooks {
 public:
  virtual ~FleetHooks() = default;
  // This member serves the unit from now on.
  virtual void start(const std::string& unit) = 0;
  // From this call on, it must not begin anything more for the unit. Returns true if nothing is under way for it.
  // Otherwise, call ended() as soon as that is so: no other member serves the unit before, unless this one cannot reach
  // the fleet.
  virtual bool stop(const std::string& unit) = 0;
  // Something changed that other members should see before they read again by themselves: call their nudge(). Those
  // calls may be lost.
  virtual void notify_others() = 0;
  // A read has shown this newest version of the definitions (tables/lease/definition_log.h).
  virtual void definitions_are_at([[maybe_unused]] uint64_t version) {}
};

class Fleet {
 public:
  Fleet(Tables& tables, Scheduler& scheduler, Random& random, EventLog log, FleetHooks& hooks, FleetOptions options);
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  ~Fleet();

  // Creates the table if it does not exist, and becomes a member. Errors: the store's; kCancelled after leave().
  Async<Result<void>> join();
  // The units that this member can serve from now on. It need not have joined.
  void serve(std::set<std::string> units);
  // Nothing is under way any more for a unit that was to stop.
  void ended(const std::string& unit);
  // As FleetCore::set_left(). `at_once`: it is written at once, and not only with what this member holds next.
  void set_left(std::map<std::string, uint64_t> left, bool at_once = false);
  // Reads the fleet now.
  void nudge();
  // Gives up all units and announces that; waits until others can read it, until `deadline` at most. True if they can.
  // Call it once.
  Async<bool> leave(BootTime deadline);

  // Null until it has joined.
  const FleetCore* core() const { return core_ ? &*core_ : nullptr; }
  // Why this member serves nothing although it should; empty if there is no reason.
  std::string broken() const;
  // True if this member joined with a wall clock that differs from the leader's by more than a second, and until it
  // does not any more: this member serves nothing then.
  bool is_clock_off() const { return clock_.verdict() == ClockCheck::Verdict::kDiffers; }
  // True once the wall clock of this member has been compared with the leader's, and was right.
  bool is_accepted() const;

 private:
  static constexpr int kMostBeats = 3;  // The most heartbeats under way, as each may take long.
  static constexpr int kMostReads = 2;
  static constexpr seconds kRetry{1};

  BootTime now() const { return scheduler_.clock().boot(); }
  void tick();
  void arm();
  void kick();
  void obey(FleetCore::Orders orders);
  void begin_life_of(MemberBeat me, BootTime sent);
  Async<Result<void>> begin();
  Async<void> begin_again();
  void send_beat();
  Async<void> beat(std::shared_ptr<FleetCore> core);
  Async<void> read(std::shared_ptr<FleetCore> core);
  Async<void> write_units_of(std::shared_ptr<FleetCore> core, MemberUnits units);
  Async<void> write_plan_of(std::shared_ptr<FleetCore> core, FleetPlan plan, uint64_t seen);
  Async<void> forget(std::vector<MemberBeat> members);
  Async<void> release(std::vector<MemberUnits> all);
  void note(const Result<void>& written);
  void note_left();
  void check_membership();
  void check_clock(BootTime begun, WallTime begun_at);
  bool is_clock_known() const { return clock_.verdict() != ClockCheck::Verdict::kUnknown; }
  nanoseconds read_interval() const;
  // Nothing until the clock has been compared.
  void serve_units();

  Tables& tables_;
  Scheduler& scheduler_;
  Random& random_;
  const EventLog log_;
  FleetHooks& hooks_;
  const FleetOptions options_;
  std::set<std::string> serves_;
  std::shared_ptr<FleetCore> core_;        // A new one for each life. Calls that are under way keep theirs.
  ClockCheck clock_;                       // A new one in each life.
  BootTime clock_read_{};                  // The beginning of the newest read that was compared.
  Membership said_ = Membership::kJoined;  // The state that was logged last.
  std::string last_error_;
  int beats_ = 0;
  int reads_ = 0;
  bool writing_units_ = false;
  size_t written_holds_ = 0;
  bool writing_plan_ = false;
  bool releasing_ = false;
  bool beginning_ = false;
  bool leaving_ = false;
  bool leaving_announced_ = false;  // The store has a heartbeat that says so.
  const Promise<bool> left_;        // Set once others can read that this member has left.
  BootTime read_at_{};              // The beginning of the last read that was answered.
  BootTime next_beat_{};
  BootTime next_read_{};
  TimerId timer_ = 0;
  Scope scope_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
