// How a queue knows its own writes again on a store without immediate answers (tables/traits.h). Pure.
//
// There every write of a queue has a token, which no other write ever has:
// - `taskBorn`: the token of the put of a new task. No transition changes it.
// - `lastWrite`: the token of the last transition. Each transition is made under the one that was seen, so a write that
//   arrives late, or twice, is refused as soon as anything else has happened to the task.
// - `taskRev`: the number of the last transition. It tells "another write took my place" (the same number) from "others
//   came after mine" (a higher number).
// - `lastEnd`: the lease under which the last claim ended, how it ended, and the token of that write.
#pragma once

#include <string_view>

#include "tables/tables.h"

namespace freshet {

// How a claim ended, as `lastEnd` says it.
namespace end_of_claim {
inline constexpr std::string_view kCompleted = "completed";
inline constexpr std::string_view kFailed = "failed";
inline constexpr std::string_view kReleased = "released";
inline constexpr std::string_view kEnded = "ended";  // By the queue: the lease ran out, or its daemon died.
}  // namespace end_of_claim

// The write with what it takes to know it again. `token`: of this write alone. `end`: how it ends a claim, if it does.
// Marks of a held task and heartbeats have no token: they are made under a lease, which never comes back, and one made
// twice is one.
EditItemInput recognisable(EditItemInput write, std::string_view token, std::string_view end);
WriteInput recognisable(WriteInput put, std::string_view token);

enum class Fate {
  kDone,       // The write was carried out.
  kNotDone,    // It was not, and may be sent again: at most one of the sendings can be carried out.
  kOvertaken,  // It was not, and never will be: something else has happened to the task.
  kUnknown,    // The task has gone on or is gone, and nothing in it tells any more.
};

// Tells what became of a write of recognisable(). `now`: the task as it was read by key, null if it is not there.
Fate fate_of(const EditItemInput& write, const ItemRef& now);
// The same for the put of a new task. kOvertaken: another task has its id.
Fate fate_of(const WriteInput& put, const ItemRef& now);

// True if the last claim of `now` ended under `lease` in the way `end`.
bool ended_so(const ItemRef& now, std::string_view lease, std::string_view end);
// The lease and the way in which the write ends a claim; empty if it ends none.
struct ClaimEnd {
  std::string_view lease;
  std::string_view end;
};
ClaimEnd claim_end(const EditItemInput& write);

// A heartbeat is done as soon as such a beat is there, whoever wrote it.
bool is_heartbeat(const EditItemInput& write);

}  // namespace freshet
