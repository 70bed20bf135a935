// Builds each transition of docs/lifecycle.md as one conditional edit. Pure: facts in, a write out.
//
// Each edit has a condition: for a task that nobody holds, state and attempt are as they were read; for a held task,
// the lease is. So a write that was decided on stale facts fails and changes nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "functions/keep_times.h"
#include "functions/queue/policy/outcome.h"
#include "tables/tables.h"

namespace freshet {

// Builds one edit of a task as it was read.
class TaskChange {
 public:
  // `to` may be the state that the task has already. It outlives this.
  TaskChange(const std::string& table, const ItemRef& task, std::string_view to, WallTime now);

  // `name` is a constant of attributes.h, each at most once. Call it in the order of the names, which is the store's,
  // as this is cheapest.
  TaskChange& set(std::string_view name, Value value);
  TaskChange& remove(std::string_view name);

  // Condition: state and attempt are as they were read.
  TaskChange& unless_moved();
  // Condition: state (TAKEN) and lease are as they were read. A client may have written the task without a lease.
  TaskChange& while_held();
  // The same condition, and no heartbeat has come since.
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
// TAKEN -> TAKEN: another heartbeat, under the lease that `task` has.
EditItemInput heartbeat(const std::string& table, const ItemRef& task, int64_t beat);
// TAKEN -> SUCCESS, under the lease that `task` has.
EditItemInput complete(const std::string& table, const ItemRef& task, Value result, WallTime now);
// TAKEN -> outcome.to, under the lease that `task` has. `lane`: the task's lane if it goes back to PENDING in a queue
// with lanes, else empty. `kind` is the word in the history: "failed", "lease ended", "daemon died". History and error
// are cut to the room that the item has.
EditItemInput end_claim(const std::string& table, const ItemRef& task, const Outcome& outcome, std::string_view kind,
                        std::string_view error, std::string_view lane, WallTime now);
// PENDING or TAKEN -> DEAD, for a task whose item is so large that no other transition fits. This one always fits.
EditItemInput set_aside(const std::string& table, const ItemRef& task);
// Adds the cost of the task to the write if the item has room for it.
EditItemInput with_cost(EditItemInput write, double cost);
// The stored form of a cost.
Value cost_value(double cost);
// DELAYED -> PENDING.
EditItemInput promote(const std::string& table, const ItemRef& task, std::string_view lane, WallTime now);
// PENDING or DELAYED -> SHED, DEAD (no attempt left) or CANCELLED. Unless it is empty, `detail` is stored as the
// attribute `name`.
EditItemInput end_waiting(const std::string& table, const ItemRef& task, std::string_view to, std::string_view name,
                          std::string_view detail, WallTime now);
// PENDING -> PENDING, for a task that a newer one of its key was to replace, when that newer one no longer exists.
EditItemInput not_replaced(const std::string& table, const ItemRef& task, WallTime now);
// Marks a held task: `by`, a newer task of its key, waits to replace it.
EditItemInput mark_replaced(const std::string& table, const ItemRef& task, std::string_view by, WallTime now);
// Marks a held task: it becomes CANCELLED when its claim ends in any way except success.
EditItemInput request_cancel(const std::string& table, const ItemRef& task, WallTime now);
// If the write (any of the above) ends a task, adds the ttl that KEEP_MS has for that state, unless a client has set
// one. Other writes stay as they are. KEEP_MS counts from `keep_from`.
EditItemInput kept(EditItemInput write, const KeepTimes& keep, WallTime keep_from);
// DEAD, FAILURE, CANCELLED or SHED -> PENDING. A deadline that has passed by `counted_from` is removed. A ttl that the
// queue had set becomes `counted_from` plus `default_ttl`, or is removed if there is no default. A client's ttl that
// has passed (see ttl_end()) becomes `counted_from` plus `default_ttl`, or plus an hour.
EditItemInput redrive(const TableDefinition& table, const ItemRef& task, std::string_view lane,
                      std::optional<milliseconds> default_ttl, WallTime now, WallTime counted_from);

}  // namespace freshet
