// How a queue recognises its own writes on a store without immediate answers (tables/traits.h). Pure.
//
// There each write of a queue carries a unique token:
// - `taskBorn`: the token of the put of a new task. No transition changes it.
// - `lastWrite`: the token of the last transition. Each transition has the condition that `lastWrite` is as it was
//   read. So the store refuses a write that arrives late, or twice, once another transition has happened.
// - `taskRev`: the number of the last transition. If the number is the same as expected, another write took the place
//   of this one. If it is higher, others came after it.
// - `lastEnd`: the lease under which the last claim ended, how it ended, and the token of that write.
#pragma once

#include <string_view>

#include "tables/tables.h"

namespace freshet {

// How a claim ended, in the words of `lastEnd`.
namespace end_of_claim {
inline constexpr std::string_view kCompleted = "completed";
inline constexpr std::string_view kFailed = "failed";
inline constexpr std::string_view kReleased = "released";
inline constexpr std::string_view kEnded = "ended";  // By the queue: the lease ran out, or its daemon died.
}  // namespace end_of_claim

// Adds the marks by which the write can be recognised later. `token` is unique to this write. `end`: how it ends a
// claim (end_of_claim); empty if it ends none, or if the queue itself ends it. Marks on a held task and heartbeats get
// no token: they are conditional on a lease, which is never used again, and doing them twice does no harm.
EditItemInput recognisable(EditItemInput write, std::string_view token, std::string_view end);
WriteInput recognisable(WriteInput put, std::string_view token);

enum class Fate {
  kDone,       // The write was carried out.
  kNotDone,    // It was not carried out. It may be sent again: at most one of the two can succeed.
  kOvertaken,  // It was not carried out and never will be: the task has changed.
  kUnknown,    // The task has changed or is gone, so that this cannot be known any more.
};

// Tells what became of a write that recognisable() marked. `now`: the task, just read by key; null if it does not
// exist.
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

// A heartbeat counts as carried out if the task has that beat, whoever wrote it.
bool is_heartbeat(const EditItemInput& write);

}  // namespace freshet
