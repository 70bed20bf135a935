#include "functions/queue/shell/counts.h"

#include <algorithm>

#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

// Empty: the task has not ended, or a client has cancelled it.
std::optional<TaskEnd> end_of(const ItemRef& task, WallTime now) {
  const auto status = text_of(task, attribute::kStatus);
  if (status == state::kSuccess) {
    const int64_t deadline_ms = int_of(task, attribute::kDeadline, 0);
    if (deadline_ms <= 0) return TaskEnd::kNoDeadline;
    return epoch_ms(now) <= deadline_ms ? TaskEnd::kInTime : TaskEnd::kLate;
  }
  if (status == state::kFailure || status == state::kDead) return TaskEnd::kFailed;
  return std::nullopt;
}

}  // namespace

// The work on the task is over. Sheds are counted where they are logged.
void TaskCounts::count_end(const ItemRef& task) {
  const auto now = wall();
  const auto end = end_of(task, now);
  if (!end) return;
  punctuality_.ended(*end, boot());
  if (*end == TaskEnd::kLate) punctuality_.wasted(WastedCall::kLate, boot());
  punctuality_.completed_after(parts_.sheds.age_of(task, now));
}

// A task that had ended was put back to be tried again.
void TaskCounts::redriven(const ItemRef& before, const ItemRef& now) {
  const auto status = text_of(before, attribute::kStatus);
  if (int_of(before, attribute::kUpdated, 0) >= epoch_ms(counts_since_)) {
    if (status == state::kFailure || status == state::kDead) punctuality_.put_back(TaskEnd::kFailed);
    if (status == state::kShed) punctuality_.put_back(TaskEnd::kShed);
  }
  parts_.settlements.moved(now);
}

// An attempt was settled whose lease is still in the book. `task`: as stored afterwards. `since`: when the claim was
// made, if this queue made it.
void TaskCounts::count_attempt(const Settlement& settlement, const ItemRef& task, std::optional<BootTime> since) {
  if (!settlement.begun) return;
  const bool gives_back = settlement.kind == Settlement::Kind::kRelease;
  if (!gives_back && settlement.worked) {
    punctuality_.worked(*settlement.worked);
  } else if (!gives_back && since) {
    punctuality_.worked(boot() - *since);
  }
  if (settlement.kind == Settlement::Kind::kComplete) return;
  // A processor has reported what its runner refused.
  if (gives_back && !settlement.worked) punctuality_.refused_by_downstream(DownstreamRefusal::kRelease);
  const bool cancelled = text_of(task, attribute::kStatus) == state::kCancelled;
  const auto why = gives_back ? WastedCall::kBounced : WastedCall::kFailed;
  punctuality_.wasted(cancelled ? WastedCall::kCancelled : why, boot());
}

// The task is no longer held under that lease, and this queue did not end the lease. `task`: the task now; null if it
// does not exist.
void TaskCounts::taken_away(const std::string& id, const std::string& token, const ItemRef& task) {
  const Lease* lease = core_.claims.leases().find(id);
  if (!lease || lease->token != token) return;
  const bool ended = task && end_of(task, wall());
  if (ended) count_end(task);
  if (!ended && lease->mine) punctuality_.wasted(WastedCall::kLost, boot());
  core_.claims.ended(id, token);
}

// The wall clock may have been set: no task is picked up before it exists.
void TaskCounts::started(std::optional<WallTime> waiting_since) {
  punctuality_.called(boot());
  if (!pickup_ || !waiting_since) return;
  auto waited = std::max(wall() - *waiting_since, milliseconds(0));
  pickup_->observe(static_cast<double>(waited.count()) / 1000);
}

}  // namespace freshet
