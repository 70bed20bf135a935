#include "functions/queue/core/claims.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/arrows.h"
#include "functions/queue/attributes.h"
#include "functions/queue/own_write.h"
#include "runtime/api/cancel_mark.h"
#include "runtime/api/task_cost.h"

namespace freshet {

namespace {

constexpr int64_t kMaxBeat = int64_t{1} << 60;

std::string held_elsewhere(const std::string& id, const ItemRef& task) {
  if (!task) return "task '" + id + "' is not there any more";
  auto status = text_of(task, attribute::kStatus);
  if (status == state::kTaken) return "task '" + id + "' is held under another lease";
  return "task '" + id + "' is not held under this lease: it is " + std::string(status);
}

Result<void> check(const Settlement& settlement) {
  constexpr milliseconds kLongest{int64_t{366} * 24 * 3600 * 1000};
  if (settlement.id.empty()) return invalid("taskId must not be empty");
  if (settlement.lease.empty()) return invalid("task '" + settlement.id + "': lease must not be empty");
  if (settlement.delay && (settlement.delay->count() < 0 || *settlement.delay > kLongest)) {
    return invalid("task '" + settlement.id + "': delay must be from 0 to 366 days");
  }
  if (!settlement.cost) return {};
  if (settlement.kind == Settlement::Kind::kHeartbeat) {
    return invalid("task '" + settlement.id + "': give its cost when the work has ended, not with a heartbeat");
  }
  if (!is_cost(*settlement.cost)) return invalid("task '" + settlement.id + "': cost must be " + kCostRange);
  return {};
}

bool is_held_under(const ItemRef& task, std::string_view token) {
  return text_of(task, attribute::kStatus) == state::kTaken && text_of(task, attribute::kLease) == token;
}

}  // namespace

Claims::Claims(const std::string& table, const QueueSettings& settings, Random& random, std::string_view node,
               std::string_view incarnation)
    : table_(table),
      settings_(settings),
      random_(random),
      node_(std::string(node) + ":"),
      process_(node_ + std::string(incarnation.substr(0, incarnation.find('.')))),
      prefix_(node_ + std::string(incarnation) + ":") {}

bool Claims::is_of_dead_daemon(std::string_view token) const {
  if (!token.starts_with(node_)) return FRESHET_PLANTED("fleet-leases-of-others-ended");
  const auto rest = token.substr(std::min(token.size(), process_.size()));
  return !token.starts_with(process_) || !(rest.starts_with(':') || rest.starts_with('.'));
}

bool Claims::is_in_flight(const ItemRef& task) const {
  return !in_flight_.empty() && in_flight_.contains(std::string(text_of(task, attribute::kId)));
}

void Claims::started(const ItemRef& task, Lease lease, BootTime now) {
  leases_.start(std::string(text_of(task, attribute::kId)), std::move(lease), now);
}

void Claims::saw_held(const ItemRef& task, BootTime now) {
  Lease lease{std::string(text_of(task, attribute::kLease)), int_of(task, attribute::kLeaseBeat, 0), duration_of(task),
              false, task};
  leases_.observe(std::string(text_of(task, attribute::kId)), std::move(lease), now);
}

void Claims::saw_written(const ItemRef& task) {
  const std::string id(text_of(task, attribute::kId));
  const Lease* lease = leases_.find(id);
  if (!lease || lease->token != text_of(task, attribute::kLease)) return;
  // A write before a heartbeat can be answered after the heartbeat.
  if (int_of(task, attribute::kLeaseBeat, 0) >= lease->beat) leases_.update(id, task);
}

void Claims::beaten(const Settlement& settlement, const ItemRef& task, BootTime now) {
  const auto beat = int_of(task, attribute::kLeaseBeat, 0);
  const Lease* known = leases_.find(settlement.id);
  if (!known || known->token != settlement.lease || beat <= known->beat || FRESHET_PLANTED("heartbeat-not-kept")) {
    return;
  }
  // The first image with this beat is the heartbeat's own. A further image with the same beat is newer, and may have a
  // mark.
  const bool known_is_later = int_of(known->task, attribute::kLeaseBeat, 0) >= beat;
  const ItemRef& newest = known_is_later ? known->task : task;
  leases_.start(settlement.id, Lease{settlement.lease, beat, duration_of(task), known->mine, newest}, now);
}

milliseconds Claims::duration_of(const ItemRef& task) const {
  // A lease that names nobody counts as ended. Only a client can write it.
  if (has(task, attribute::kLease) && text_of(task, attribute::kLease).empty()) return milliseconds(0);
  auto stored = FRESHET_PLANTED("lease-of-the-settings") ? settings_.lease.count()
                                                         : int_of(task, attribute::kLeaseMs, settings_.lease.count());
  return milliseconds(std::clamp<int64_t>(stored, 1, int64_t{366} * 24 * 3600 * 1000));
}

std::vector<Lapse> Claims::lapsed(BootTime now, size_t most) {
  std::vector<Lapse> out;
  for (auto& id : leases_.ended(now, most)) {
    const Lease* lease = leases_.find(id);
    if (lease == nullptr) continue;
    auto outcome = after_failure(lease->task, settings_, false, {}, random_.unit());
    if (!settings_.retry_failures) outcome = after_restart(lease->task, settings_);
    FRESHET_REACHED("a lease has ended");
    outcome.unless_beaten = !FRESHET_PLANTED("lease-ended-though-beaten") && !FRESHET_PLANTED("heartbeat-not-kept");
    const bool once = FRESHET_PLANTED("lease-end-tried-once");
    leases_.postpone(id, once ? BootTime::max() : now + settings_.look_around);
    out.push_back({std::move(id), lease->token, lease->task, outcome});
  }
  return out;
}

bool Claims::lapse_went_on(const std::string& id, const std::string& token, const ItemRef& task, BootTime now) {
  if (!task || !is_held_under(task, token)) return false;
  const auto beat = int_of(task, attribute::kLeaseBeat, 0);
  const Lease* known = leases_.find(id);
  if (!known || known->token != token) return true;
  if (known->beat == beat) {
    leases_.update(id, task);
  } else {
    leases_.start(id, Lease{token, beat, duration_of(task), known->mine, task}, now);
  }
  return true;
}

Result<ItemRef> Claims::known_task(const Settlement& settlement) const {
  if (auto ok = check(settlement); !ok) return fail(ok.error());
  const Lease* lease = leases_.find(settlement.id);
  return lease && lease->token == settlement.lease ? lease->task : ItemRef();
}

Result<void> Claims::may_settle(const Settlement& settlement, const ItemRef& task) {
  const bool is_other = text_of(task, attribute::kLease) != settlement.lease && !FRESHET_PLANTED("settle-not-fenced");
  if (text_of(task, attribute::kStatus) == state::kTaken && !is_other) return {};
  return fail(ErrorCode::kConflict, held_elsewhere(settlement.id, task));
}

Outcome Claims::outcome_of(const Settlement& settlement, const ItemRef& task) const {
  Outcome out;
  switch (settlement.kind) {
    case Settlement::Kind::kComplete:
      out.to = state::kSuccess;
      break;
    case Settlement::Kind::kHeartbeat:
      break;
    case Settlement::Kind::kFail:
      out = after_failure(task, settings_, settlement.final, settlement.delay, random_.unit());
      break;
    case Settlement::Kind::kRelease:
      out = after_release(task, settlement.delay);
      break;
  }
  return out;
}

bool Claims::needs_lane(const Settlement& settlement) {
  return settlement.kind == Settlement::Kind::kFail || settlement.kind == Settlement::Kind::kRelease;
}

std::string_view Claims::end_of(Settlement::Kind kind) {
  switch (kind) {
    case Settlement::Kind::kComplete:
      return end_of_claim::kCompleted;
    case Settlement::Kind::kFail:
      return end_of_claim::kFailed;
    case Settlement::Kind::kRelease:
      return end_of_claim::kReleased;
    case Settlement::Kind::kHeartbeat:
      break;
  }
  return {};
}

bool Claims::has_settled(const Settlement& settlement, const ItemRef& task) {
  const auto end = end_of(settlement.kind);
  return !end.empty() && ended_so(task, settlement.lease, end);
}

EditItemInput Claims::settling_write(Settlement& settlement, const Outcome& outcome, const ItemRef& task,
                                     std::string_view lane, WallTime now, WallTime keep_from) const {
  if (settlement.kind == Settlement::Kind::kComplete) {
    return kept(complete(table_, task, std::move(settlement.result), now), settings_.keep, keep_from);
  }
  if (settlement.kind == Settlement::Kind::kHeartbeat) {
    const Lease* lease = leases_.find(settlement.id);
    auto beat = std::max(lease ? lease->beat : 0, int_of(task, attribute::kLeaseBeat, 0));
    return heartbeat(table_, task, std::min(beat, kMaxBeat) + 1);
  }
  auto write = end_claim(table_, task, outcome, history_name(settlement.kind), settlement.error, lane, now);
  // A cancel that this daemon has not seen yet changes this: see was_cancelled().
  if (outcome.to == state::kPending || outcome.to == state::kDelayed) write.unchanged[2] = attribute::kCancelRequested;
  return kept(std::move(write), settings_.keep, keep_from);
}

ItemRef Claims::was_cancelled(const Settlement& settlement, const Error& error) {
  if (error.code != ErrorCode::kConditionalCheckFailed || !needs_lane(settlement)) return {};
  ItemRef task = task_of(error);
  return task && is_held_under(task, settlement.lease) && is_cancel_requested(task) ? task : ItemRef();
}

tl::unexpected<Error> Claims::refusal(const std::string& id, const Error& error) {
  if (error.code != ErrorCode::kConditionalCheckFailed) return fail(error);
  return fail(ErrorCode::kConflict, held_elsewhere(id, task_of(error)));
}

std::string_view Claims::history_name(Settlement::Kind kind) {
  return kind == Settlement::Kind::kFail ? "failed" : "released";
}

ItemRef Claims::task_of(const Error& error) {
  const auto detail = std::dynamic_pointer_cast<const ConditionFailed>(error.detail);
  return detail ? detail->item : ItemRef();
}

}  // namespace freshet
