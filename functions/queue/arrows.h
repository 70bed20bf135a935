// What each arrow of docs/lifecycle.md writes, as one conditional update. Pure: facts in, a write out.
//
// Every update is made under what the actor saw: the state and the attempt for tasks that nobody holds, the lease for
// tasks that are held. So a write that was decided on stale facts fails and changes nothing.
#pragma once

#include <string>
#include <string_view>

#include "functions/queue/policy/outcome.h"
#include "tables/tables.h"

namespace freshet {

// Builds one UpdateItem. Expression texts come out the same for the same sequence of calls, so that the store's cache
// of compiled expressions hits.
class TaskChange {
 public:
  // `task` names the item by its taskId; `to` may be the state that it has already.
  TaskChange(const std::string& table, const ItemRef& task, std::string_view to, WallTime now);

  // `name` must be a plain attribute name; `reserved` puts it behind a placeholder.
  TaskChange& set(std::string_view name, Value value);
  TaskChange& set_reserved(std::string_view name, Value value);
  TaskChange& remove(std::string_view name);

  // The task is in state `from` and its attempt is what `task` says.
  TaskChange& unless_moved(const ItemRef& task, std::string_view from);
  // The task is TAKEN under this lease.
  TaskChange& while_held(std::string_view lease);
  // The task is TAKEN, and its lease is what `task` says: none, or of a wrong type, as a client may write it.
  TaskChange& while_held(const ItemRef& task);
  // Besides while_held(): its heartbeats are as `task` says.
  TaskChange& unless_beaten(const ItemRef& task);

  UpdateItemInput finish(bool item_on_failure = false) &&;

 private:
  std::string_view placeholder(Value value);

  UpdateItemInput input_;
  std::string removes_;
  size_t values_ = 0;
};

struct Claim {
  std::string lease;
  milliseconds duration;
  std::string_view taken_by;
};

// PENDING -> TAKEN.
UpdateItemInput claim(const std::string& table, const ItemRef& task, const Claim& claim, WallTime now);
// TAKEN -> TAKEN: one heartbeat more.
UpdateItemInput heartbeat(const std::string& table, const ItemRef& task, std::string_view lease, int64_t beat);
// TAKEN -> SUCCESS.
UpdateItemInput complete(const std::string& table, const ItemRef& task, std::string_view lease, Value result,
                         WallTime now);
// TAKEN -> outcome.to, under the lease that `task` says. `lane` is that of the task if it goes back to PENDING in a
// queue with lanes, else empty. `kind` names what happened in the history: "failed", "lease ended", "daemon died". Of
// history and error as much is kept as the item has room for.
UpdateItemInput end_claim(const std::string& table, const ItemRef& task, const Outcome& outcome, std::string_view kind,
                          std::string_view error, std::string_view lane, WallTime now);
// PENDING or TAKEN -> DEAD, of a task that has no room for anything else. Always fits.
UpdateItemInput set_aside(const std::string& table, const ItemRef& task);
// DELAYED -> PENDING.
UpdateItemInput promote(const std::string& table, const ItemRef& task, std::string_view lane, WallTime now);
// PENDING or DELAYED -> SHED, DEAD (no attempt left) or CANCELLED. `from` is the state that was seen; `detail` is kept
// in the attribute `name` if not empty.
UpdateItemInput end_waiting(const std::string& table, const ItemRef& task, std::string_view from, std::string_view to,
                            std::string_view name, std::string_view detail, WallTime now);
// Marks a held task: it becomes CANCELLED when its claim ends other than by success.
UpdateItemInput request_cancel(const std::string& table, const ItemRef& task, WallTime now);
// DEAD, FAILURE or CANCELLED -> PENDING. A passed ttl (see ttl_end()) becomes `fresh_ttl` from now.
UpdateItemInput redrive(const TableDefinition& table, const ItemRef& task, std::string_view from, std::string_view lane,
                        milliseconds fresh_ttl, WallTime now);

}  // namespace freshet
