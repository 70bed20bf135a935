// Each arrow of docs/lifecycle.md as one conditional edit. Pure: facts in, a write out.
//
// Every update is made under what the actor saw: the state and the attempt for tasks that nobody holds, the lease for
// tasks that are held. So a write that was decided on stale facts fails and changes nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "functions/keep_times.h"
#include "functions/queue/policy/outcome.h"
#include "tables/tables.h"

namespace freshet {

// Builds one edit of a task as it was seen.
class TaskChange {
 public:
  // `to` may be the state that it has already, and outlives this.
  TaskChange(const std::string& table, const ItemRef& task, std::string_view to, WallTime now);

  // Names are constants (attributes.h); each once. Cheapest in the order of the names, as the store wants them.
  TaskChange& set(std::string_view name, Value value);
  TaskChange& remove(std::string_view name);

  // The task is in the state and at the attempt that was seen.
  TaskChange& unless_moved();
  // The task is in the state (TAKEN) and under the lease that was seen; or without one, as a client may write it.
  TaskChange& while_held();
  // The same, and its heartbeats are as they were seen.
  TaskChange& unless_beaten();

  EditItemInput finish(bool item_on_failure = false) &&;

 private:
  EditItemInput::Edit& put(std::string_view name);

  EditItemInput input_;
  const std::string_view to_;
  const WallTime now_;
};

struct Claim {
  std::string lease;
  milliseconds duration;
  std::string_view taken_by;
};

// PENDING -> TAKEN.
EditItemInput claim(const std::string& table, const ItemRef& task, const Claim& claim, WallTime now);
// TAKEN -> TAKEN: one heartbeat more, under the lease that `task` has.
EditItemInput heartbeat(const std::string& table, const ItemRef& task, int64_t beat);
// TAKEN -> SUCCESS, under the lease that `task` has.
EditItemInput complete(const std::string& table, const ItemRef& task, Value result, WallTime now);
// TAKEN -> outcome.to, under the lease that `task` says. `lane` is that of the task if it goes back to PENDING in a
// queue with lanes, else empty. `kind` names what happened in the history: "failed", "lease ended", "daemon died". Of
// history and error as much is kept as the item has room for.
EditItemInput end_claim(const std::string& table, const ItemRef& task, const Outcome& outcome, std::string_view kind,
                        std::string_view error, std::string_view lane, WallTime now);
// PENDING or TAKEN -> DEAD, of a task that has no room for anything else. Always fits.
EditItemInput set_aside(const std::string& table, const ItemRef& task);
// The same write, which also keeps what the task has cost, where the item has room for it.
EditItemInput with_cost(EditItemInput write, double cost);
// A cost as the store keeps it.
Value cost_value(double cost);
// DELAYED -> PENDING.
EditItemInput promote(const std::string& table, const ItemRef& task, std::string_view lane, WallTime now);
// PENDING or DELAYED -> SHED, DEAD (no attempt left) or CANCELLED. `detail` is kept in the attribute `name` if not
// empty.
EditItemInput end_waiting(const std::string& table, const ItemRef& task, std::string_view to, std::string_view name,
                          std::string_view detail, WallTime now);
// PENDING -> PENDING, for a task that was to make room for a newer one of its key that no longer exists.
EditItemInput not_replaced(const std::string& table, const ItemRef& task, WallTime now);
// Marks a held task: `by`, a newer task of its key, is waiting to take its place.
EditItemInput mark_replaced(const std::string& table, const ItemRef& task, std::string_view by, WallTime now);
// Marks a held task: it becomes CANCELLED when its claim ends in any way except success.
EditItemInput request_cancel(const std::string& table, const ItemRef& task, WallTime now);
// Adds to a write that ends a task (any of the above) the ttl that KEEP_MS gives to tasks that end in that state,
// unless a client has set one. Other writes stay as they are.
EditItemInput kept(EditItemInput write, const KeepTimes& keep, WallTime now);
// DEAD, FAILURE, CANCELLED or SHED -> PENDING. A ttl that the queue had given becomes `default_ttl` from now, or goes
// if there is none; one of a client that has passed (see ttl_end()) becomes `default_ttl`, or an hour, from now.
EditItemInput redrive(const TableDefinition& table, const ItemRef& task, std::string_view lane,
                      std::optional<milliseconds> default_ttl, WallTime now);

}  // namespace freshet
