// How a queue knows its own writes again on a store without immediate answers (tables/traits.h). Pure.
//
// There every write of a queue has a token, which no other write ever has:
// - `taskBorn`: the token of the put of a new task. No transition changes it.
// - `lastWrite`: the token of the last transition. Each transition has the condition that `lastWrite` is as it was
//   read. So the store refuses a write that arrives late, or twice, once another transition has happened.
// - `taskRev`: the number of the last transition. It tells "another write took my place" (the same number) from "others
//   came after mine" (a higher number).
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

// Adds to the write what it takes to recognise it later. No other write has this `token`. `end`: how it ends a claim
// (end_of_claim), empty if it ends none or if the queue itself ends it.
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
