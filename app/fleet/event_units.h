// The asynchronous events of the daemons of a fleet. Each daemon runs its own (the unit events/ID). Those of a daemon
// that is dead are moved to another one. Loop thread. Everything that it refers to must outlive it, and it must outlive
// every Async that it returned.
#pragma once

#include <map>
#include <set>
#include <string>

#include "app/fleet/queue_units.h"
#include "app/fleet/unit_kind.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wall_guard.h"
#include "runtime/runtime.h"
#include "tables/lease/events_table.h"

namespace freshet {

class EventUnits final : public UnitKind {
 public:
  EventUnits(QueueUnits& units, Tables& tables, Runtime& runtime, Random& random, WallGuard& wall, EventLog log)
      : units_(units), tables_(tables), runtime_(runtime), random_(random), wall_(wall), log_(log) {}
  EventUnits(const EventUnits&) = delete;
  EventUnits& operator=(const EventUnits&) = delete;

  // Notes that this daemon has events, so that others find them. Call it before the daemon accepts any.
  Async<Result<void>> note();
  // Looks from now on which daemons are dead and have events.
  void begin();

  std::string_view kind() const override { return "events"; }
  void serve(const std::string& daemon, bool is_mine) override;
  bool is_busy(const std::string& daemon) const override;

 private:
  struct Taking {
    bool is_wanted = true;
    bool is_moving = false;  // A page is under way, and must end before another daemon has these events.
    Scope scope{};
  };

  bool is_dead(const std::string& daemon) const;
  bool is_forgotten(const std::string& daemon) const;
  Async<void> keep_watch();
  Async<void> note_again();
  Async<void> read_notes();
  void offer();
  Async<void> take_over(std::string daemon, Taking& taking);
  Async<bool> take_all(std::string daemon, Taking& taking);

  QueueUnits& units_;
  Tables& tables_;
  Runtime& runtime_;
  Random& random_;
  WallGuard& wall_;
  const EventLog log_;
  std::map<std::string, std::string> lives_;  // By daemon that has events, as they were read last.
  std::map<std::string, BootTime> resting_;   // By daemon whose events this one cannot run: until when.
  std::set<std::string> offered_;
  std::map<std::string, Taking> taking_;  // By daemon.
  Scope scope_;                           // The last member, so that it is destroyed first.
};

}  // namespace freshet
