// Claims: which claims are in flight, which leases this daemon times, and how a claim ends. Pure state: no store,
// clock, coroutine or log; `now` is passed in. Loop thread.
//
// The events of a claim are new_token(), sent(), answered() and, if the store carried it out, started(). Then come
// heartbeats (beaten()) and at last ended(), after a settlement or after lapsed(). If a heartbeat was faster than the
// end of the lease, lapse_went_on() follows instead. Writes are returned as values; the caller executes them and
// reports the answers. docs/lifecycle.md, "Leases".
#pragma once

#include <absl/container/flat_hash_set.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "functions/queue/core/lease_book.h"
#include "functions/queue/policy/outcome.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"
#include "tables/tables.h"

namespace freshet {

// A lease that ran out. Its task is to leave TAKEN with this outcome.
struct Lapse {
  std::string id;
  std::string token;
  ItemRef task;  // As this daemon knows it.
  Outcome outcome;
};

class Claims {
 public:
  // `table`, the settings and the random numbers outlive this. `node` and `incarnation` name this daemon, as
  // QueueIdentity says.
  Claims(const std::string& table, const QueueSettings& settings, Random& random, std::string_view node,
         std::string_view incarnation);
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // A unique lease for a new claim.
  std::string new_token() { return prefix_ + std::to_string(++number_); }
  // True if an earlier process of this node gave the lease. Its holder counts as gone.
  bool is_of_dead_daemon(std::string_view token) const;

  // A write that ends the task's waiting (a claim, a shed) is in flight: takes must pass the task over.
  void sent(std::string id) { in_flight_.insert(std::move(id)); }
  void answered(const std::string& id) { in_flight_.erase(id); }
  bool is_in_flight(const ItemRef& task) const;
  size_t in_flight() const { return in_flight_.size(); }

  // The leases, read-only. References from find() are valid until the next event.
  const LeaseBook& leases() const { return leases_; }
  // The callback runs whenever the number of tasks in work of a group or a key changes. It must not use Claims.
  void on_group_change(LeaseBook::OnGroup callback) { leases_.on_group_change(std::move(callback)); }
  void on_key_change(LeaseBook::OnKey callback) { leases_.on_key_change(std::move(callback)); }

  // The store carried out a claim of this queue: its lease begins. `task`: as the claim stored it, also in `lease`.
  void started(const ItemRef& task, Lease lease, BootTime now);
  // A held task was read: its lease is timed from now on, unless it is timed already and there is no new heartbeat.
  void saw_held(const ItemRef& task, BootTime now);
  // A held task was written without a change of its lease: remembers the new image, unless a later heartbeat has
  // brought a newer one.
  void saw_written(const ItemRef& task);
  // A heartbeat was stored. A heartbeat that was overtaken by the end of its own claim is ignored.
  void beaten(const Settlement& settlement, const ItemRef& task, BootTime now);
  // The claim has ended, by whichever write. Ignored if the task has another lease by now.
  void ended(const std::string& id, std::string_view token) { leases_.forget(id, token); }
  // The table is gone, and no lease holds any more.
  void table_lost() { leases_.clear(); }
  // The duration of a held task's lease: its own, or the queue's default if it has none. 0: it has ended.
  milliseconds duration_of(const ItemRef& task) const;

  // At most `most` leases that have run out by `now`, the earliest first. Those for which ended() does not come are
  // returned again after LOOK_AROUND_MS.
  std::vector<Lapse> lapsed(BootTime now, size_t most);
  // The write that was to end the lease failed its condition. `task`: the task now, null if it does not exist. True if
  // a heartbeat came, so that the task is still held under that lease; the lease is then timed anew. False: somebody
  // else changed the task.
  bool lapse_went_on(const std::string& id, const std::string& token, const ItemRef& task, BootTime now);

  // The settlement's task as this daemon knows it; null if it does not know the lease, so that the task has to be read.
  // kValidation if the settlement itself is wrong.
  Result<ItemRef> known_task(const Settlement& settlement) const;
  // Succeeds if the settlement's lease holds the task. Otherwise kConflict, whose message names the holder.
  static Result<void> may_settle(const Settlement& settlement, const ItemRef& task);
  // For stores without immediate answers: true if an earlier call has already ended the claim in this way
  // (own_write.h).
  static bool has_settled(const Settlement& settlement, const ItemRef& task);
  // How such a settlement ends a claim (end_of_claim); empty for a heartbeat.
  static std::string_view end_of(Settlement::Kind kind);
  // The state that the task moves to; none for a heartbeat.
  Outcome outcome_of(const Settlement& settlement, const ItemRef& task) const;
  // True if settling_write() needs the task's new lane.
  static bool needs_lane(const Settlement& settlement);
  // The write of the settlement, whose result is moved into it. `keep_from`: KEEP_MS counts from there.
  EditItemInput settling_write(Settlement& settlement, const Outcome& outcome, const ItemRef& task,
                               std::string_view lane, WallTime now, WallTime keep_from) const;
  // The current task, if the write failed only because the task was cancelled meanwhile; else null. The caller then
  // decides the settlement again for this task, which ends as CANCELLED.
  static ItemRef was_cancelled(const Settlement& settlement, const Error& error);
  // The error for the caller of the settlement when the write failed: kConflict instead of a failed condition.
  static tl::unexpected<Error> refusal(const std::string& id, const Error& error);
  // The word in the task's history for the way in which the claim ended.
  static std::string_view history_name(Settlement::Kind kind);
  // The task that failed a condition, as the store returned it; null if it returned none.
  static ItemRef task_of(const Error& error);

 private:
  const std::string& table_;
  const QueueSettings& settings_;
  Random& random_;
  const std::string node_;     // "NODE:"
  const std::string process_;  // "NODE:PROCESS"
  const std::string prefix_;   // "NODE:INCARNATION:"
  uint64_t number_ = 0;        // The number of the last lease.
  LeaseBook leases_;
  absl::flat_hash_set<std::string> in_flight_;  // Ids of tasks.
};

}  // namespace freshet
