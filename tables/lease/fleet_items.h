// The items by which the daemons of a fleet know each other, in one table of the store that they share: for each member
// its heartbeat and its units, and one plan, which says who serves which unit. Every write is conditional on a number
// that only rises, so that a write that arrives late or twice changes nothing that came after it.
//
// No time in an item decides who is alive: each member times the others on its own clock (runtime/fleet/fleet_core.h).
//
// Loop thread. The store outlives the Asyncs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr const char* kFleetTable = "freshet-fleet";

// A member says with its heartbeat that it lives, and where. One write a heartbeat, whatever it serves.
struct MemberBeat {
  std::string id;         // The same in each life of the daemon.
  uint64_t epoch = 0;     // Rises with each life.
  uint64_t beat = 0;      // Rises with each heartbeat.
  std::string life;       // No other life of any member has it.
  std::string url;        // Where other members reach it.
  milliseconds lease{0};  // Without a heartbeat for this long, others take over.
  bool leaving = false;   // It takes no more units.
  WallTime wall{};        // When the heartbeat was made; the epoch if the member is of a version that does not say so.
  bool operator==(const MemberBeat&) const = default;
};

// The units of a member. It serves a unit only while `holds` has it, in the stored item.
struct MemberUnits {
  std::string id;
  uint64_t epoch = 0;
  uint64_t rev = 0;                 // Rises with each change in this epoch.
  std::vector<std::string> serves;  // Those that it can serve, as its template says. Sorted, as is the next.
  std::vector<std::string> holds;
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

// Members and units by member.
struct FleetView {
  std::map<std::string, MemberBeat> members;
  std::map<std::string, MemberUnits> units;
  std::optional<FleetPlan> plan;
};

// Makes the table, or finds it. The errors name it.
Async<Result<void>> provide_fleet_table(Tables& tables);

// Begins a life of the member: `beat` with an epoch above that of its last life. kUnavailable if the store does not
// tell whether it did.
Async<Result<MemberBeat>> begin_life(Tables& tables, MemberBeat beat);

// Each is kConditionalCheckFailed if the stored item is newer, or of another life.
Async<Result<void>> write_beat(Tables& tables, MemberBeat beat);
Async<Result<void>> write_units(Tables& tables, MemberUnits units);
// `seen`: the version of the plan that it replaces; 0: there is none.
Async<Result<void>> write_plan(Tables& tables, FleetPlan plan, uint64_t seen);
// Removes the items of a member, if this is still its last heartbeat.
Async<Result<void>> forget_member(Tables& tables, MemberBeat beat);

// All items. Each is read at some time between the call and the answer; together they are no snapshot.
Async<Result<FleetView>> read_fleet(Tables& tables);

}  // namespace freshet
