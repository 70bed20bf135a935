// When the schedules of a fleet last fired, in a table of the shared store. A daemon writes there that it fires a
// schedule (a claim) before it does so, on the condition that the schedule has not fired since the daemon read it. So
// one daemon fires it each time.
//
// A daemon can end after its claim and before it has fired. Its newest claim stays in the item, so that it fires after
// its next start. Items stay, too, when a schedule is removed: other daemons may still have it.
//
// Loop thread. The store must outlive the Asyncs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr const char* kSchedulesTable = "freshet-schedules";

struct FiringClaim {
  uint64_t number = 0;  // Rises with each claim of the daemon.
  WallTime time{};      // When the schedule was due,
  WallTime at{};        // and when the daemon claimed it, or `time` if that is later.
};

struct ScheduleTimes {
  WallTime start{};                           // When it was made: rates count from here.
  WallTime last{};                            // When it was last claimed, or made.
  std::map<std::string, FiringClaim> claims;  // By daemon: its newest claim.
};

// A daemon that has not claimed the schedule for this time is forgotten with the next claim of another one.
inline constexpr std::chrono::hours kClaimsKept{24 * 30};

// Creates the table unless it exists. Errors name the table.
Async<Result<void>> provide_schedules_table(Tables& tables);

// `id` names the schedule. If the store does not have it, it gets these times. Errors: the store's; kUnknownOutcome if
// it may have got them.
Async<Result<ScheduleTimes>> read_schedule(Tables& tables, std::string id, WallTime start, WallTime last);

// Claims a firing for the daemon. `seen`: as read_schedule() returned it. kConditionalCheckFailed if the schedule was
// claimed since, kUnknownOutcome if the claim may have been written: read it again in both cases.
Async<Result<void>> claim_firing(Tables& tables, std::string id, std::string daemon, ScheduleTimes seen,
                                 FiringClaim claim);

}  // namespace freshet
