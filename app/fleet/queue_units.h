// Opens and closes the queues of a daemon in a fleet: each queue is open in the member that the fleet has chosen, and
// closed in all others. Things of other kinds, such as event source mappings, are served in the same way. Loop thread.
// Everything that it refers to must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/fleet/member_calls.h"
#include "app/fleet/silent_owners.h"
#include "app/fleet/unit_kind.h"
#include "base/async.h"
#include "base/log.h"
#include "functions/queue/creation_elsewhere.h"
#include "functions/queue/queues.h"
#include "runtime/fleet/fleet.h"
#include "tables/lease/fleet_tables.h"

namespace freshet {

struct QueueUnitsParts {
  Tables& tables;  // The engine's.
  Tables& engine;  // The engine itself, for writes to queues that other members serve.
  Scheduler& scheduler;
  Random& random;
  EventLog log;
  Queues& queues;
  MemberCalls& calls;
  // Called before this member opens a queue that another one may have served.
  std::function<void(const std::string& table)> start_over;
};

class QueueUnits final : private FleetHooks {
 public:
  // `options.url` may be set later, by begin().
  QueueUnits(QueueUnitsParts parts, FleetOptions options);
  QueueUnits(const QueueUnits&) = delete;
  QueueUnits& operator=(const QueueUnits&) = delete;

  // The member that serves the requests for a queue.
  struct Place {
    enum class Is {
      kHere,     // This member serves it, or no member may.
      kThere,    // The member at `url` serves it.
      kNowhere,  // Nobody serves it at the moment.
    };
    Is is = Is::kHere;
    std::string url;
  };

  // Creates the tables that the fleet needs, unless they exist. An error refuses the start: a table is missing and
  // cannot be created, or has other keys, or the fleet has another name.
  Async<Result<void>> check(FleetNeeds needs, std::string name);
  // Sets the queues of the template, with their settings.
  Async<Result<void>> deploy(std::map<std::string, QueueSettings> queues);
  // Sets the things of that kind that this member can serve. `kind` must live until leave() has completed, or
  // the loop has stopped.
  void set_units(UnitKind& kind, std::set<std::string> names);
  // Joins the fleet as the member that others reach at `url`. Call it once requests are served.
  void begin(std::string url);
  // Gives up all units. A busy unit is given up when its work ends. Returns true once the store shows that and other
  // members have been notified; false at the deadline. Call it once.
  Async<bool> leave(BootTime deadline);

  Place place_of(const std::string& queue) const;
  // The same for a thing of another kind.
  Place place_of(const UnitKind& kind, const std::string& name) const;
  // True while this member serves it, and no other one may: its last heartbeat is young enough.
  bool has_lease(const UnitKind& kind, const std::string& name) const;
  // Empty if nobody serves it.
  OwnerSign owner_sign(const std::string& queue) const;
  // True if this member may create tasks of the queue although it does not serve it: the queue is one of the fleet's,
  // and this member's clock is right, as the tasks are ordered by it.
  bool may_create(const std::string& queue) const;
  // As CreateElsewhere.
  Async<Result<std::vector<Result<CreatedTask>>>> create(const std::string& queue, std::vector<NewTask> tasks);
  std::string new_id() { return parts_.random.uuid(); }
  // True while this member may act for the fleet: no other daemon has its name, and its clock was right when it joined.
  bool is_accepted() const;
  // URLs of the other living members.
  std::vector<std::string> others() const;
  void nudge();
  // Others read the fleet's items now.
  void announce() { notify_others(); }
  // From now on, `look` gets the newest version of the definitions, as this member reads it. Null: nobody does.
  void watch_definitions(std::function<void(uint64_t version)> look) { on_definitions_ = std::move(look); }
  // How many tasks of the queue are still in work at daemons that served it before.
  size_t left_elsewhere(const std::string& queue) const;
  size_t served_here(const UnitKind& kind) const;  // How many of that kind this member serves.
  bool is_clock_off() const { return fleet_ && fleet_->is_clock_off(); }
  // Null until it has joined.
  const FleetCore* core() const { return fleet_ ? fleet_->core() : nullptr; }
  const std::string& id() const { return options_.id; }
  Scheduler& scheduler() const { return parts_.scheduler; }
  std::string broken() const;

 private:
  static constexpr seconds kRetry{1};
  struct Wanted {
    uint64_t number = 0;  // Rises with each start.
    std::string trouble;  // The reason why it cannot be opened; else empty.
  };

  struct Served {
    UnitKind* kind = nullptr;
    std::set<std::string> names{};
  };

  // Null for a queue of tasks.
  UnitKind* kind_of(const std::string& unit) const;
  std::set<std::string> units() const;
  void start(const std::string& unit) override;
  bool stop(const std::string& unit) override;
  Async<void> finish(std::string unit, UnitKind& kind, uint64_t number);
  void notify_others() override;
  void definitions_are_at(uint64_t version) override {
    if (on_definitions_) on_definitions_(version);
  }
  Async<void> join();
  Async<void> open(std::string queue, uint64_t number);
  // Deployments pass over a queue that is not open yet: it gets their settings here.
  Async<void> deploy_missed(const std::string& queue);
  Wanted* wanted(const std::string& queue, uint64_t number);
  Async<void> notify(std::string url);
  std::map<std::string, uint64_t> left_in_work() const;
  Async<void> report_left();

  QueueUnitsParts parts_;
  FleetOptions options_;
  CreationElsewhere creation_;
  std::function<void(uint64_t version)> on_definitions_;
  std::unique_ptr<Fleet> fleet_;
  std::map<std::string, QueueSettings> settings_;
  uint64_t deployments_ = 0;
  std::map<std::string, Served, std::less<>> kinds_;  // By kind.
  std::map<std::string, Wanted> wanted_;              // Queues that this member serves.
  uint64_t starts_ = 0;
  std::map<std::string, uint64_t> stops_;  // By unit of another kind: how often it was to stop.
  std::string join_trouble_;
  bool reports_left_ = false;
  size_t nudges_ = 0;                      // Nudges in flight.
  std::optional<Promise<bool>> notified_;  // Set while leave() waits for the end of nudges.
  Scope scope_;                            // The last member, so that it is destroyed first.
};

}  // namespace freshet
