// The items with which the daemons of a fleet coordinate. They are in one table of the shared store: a heartbeat and a
// list of units for each member, and one plan that assigns units to members. Every write is conditional on a number
// that only rises, so that a write that arrives late or twice changes nothing that came after it.
//
// No time in an item decides who is alive: each member times the others on its own clock (runtime/fleet/fleet_core.h).
//
// Loop thread. The store must outlive the Asyncs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr const char* kFleetTable = "freshet-fleet";
inline constexpr std::string_view kDefinitionsId = "definitions";  // The item of definition_log.h.

// A member's heartbeat: shows that it is alive, and its address. Each heartbeat is one write, however many units the
// member serves.
struct MemberBeat {
  std::string id;         // The same in each life of the daemon.
  uint64_t epoch = 0;     // Rises with each start of the daemon, which begins a new life.
  uint64_t beat = 0;      // Rises with each heartbeat.
  std::string life;       // Unique to this life.
  std::string url;        // Where other members reach it.
  milliseconds lease{0};  // After this time without a heartbeat, others take over.
  bool leaving = false;   // It takes no more units.
  int load = 0;           // How busy the member is, in percent.
  WallTime wall{};        // When the heartbeat was made; the epoch if the member is of a version that does not say so.
  bool operator==(const MemberBeat&) const = default;
};

// The units of a member. It serves a unit only while `holds` of the stored item contains that unit.
struct MemberUnits {
  std::string id;
  uint64_t epoch = 0;
  uint64_t rev = 0;                 // Rises with each change in this epoch.
  std::vector<std::string> serves;  // The units that its template allows it to serve. Sorted, as is `holds`.
  std::vector<std::string> holds;
  // By queue's unit that the member does not hold any more: how many of its tasks the member still has in work.
  std::map<std::string, uint64_t> left{};
  bool operator==(const MemberUnits&) const = default;
};

// The plan says who is to serve which unit. Its leader writes it; a new leader begins by writing its own name.
struct FleetPlan {
  std::string leader;
  uint64_t leader_epoch = 0;
  uint64_t term = 0;                          // Rises with each change of leader.
  uint64_t version = 0;                       // Rises with each write.
  std::map<std::string, std::string> owners;  // From unit to member.
  bool operator==(const FleetPlan&) const = default;
};

// All items. Both maps are by the member's id.
struct FleetView {
  std::map<std::string, MemberBeat> members;
  std::map<std::string, MemberUnits> units;
  std::optional<FleetPlan> plan;
  uint64_t definitions = 0;  // The newest version of the definitions (definition_log.h).
};

// Creates the table unless it exists. Errors name the table.
Async<Result<void>> provide_fleet_table(Tables& tables);

// Makes this the fleet's name, unless it has one. kConflict if it has another one; the empty name is that of a fleet
// without one. A fleet without a name gets one only while none of its members lives; to find that out, this waits for
// the longest of their leases.
Async<Result<void>> name_fleet(Tables& tables, Scheduler& scheduler, std::string name);

// Begins a life of the member: `beat` with an epoch above that of its last life. kUnavailable if it stays unknown
// whether the write took effect.
Async<Result<MemberBeat>> begin_life(Tables& tables, MemberBeat beat);

// Each fails with kConditionalCheckFailed if the stored item is newer, or of another life.
Async<Result<void>> write_beat(Tables& tables, MemberBeat beat);
Async<Result<void>> write_units(Tables& tables, MemberUnits units);
// `seen`: the version of the plan that it replaces; 0: there is none.
Async<Result<void>> write_plan(Tables& tables, FleetPlan plan, uint64_t seen);
// Removes the items of a member, if this is still its last heartbeat.
Async<Result<void>> forget_member(Tables& tables, MemberBeat beat);
// Empties what a dead member holds, so that members that begin later need not find out by themselves that it is dead.
// `units`: as it was read; kConditionalCheckFailed if the member has written it since.
Async<Result<void>> release_units(Tables& tables, MemberUnits units);

// Reads all items, each at some time between the call and the answer: together they are no snapshot.
Async<Result<FleetView>> read_fleet(Tables& tables);

}  // namespace freshet
