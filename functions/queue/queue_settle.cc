#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/queue.h"
#include "runtime/task_cost.h"

namespace freshet {

namespace {

constexpr int64_t kMaxBeat = int64_t{1} << 60;

std::string held_elsewhere(const std::string& id, const ItemRef& task) {
  if (!task) return "task '" + id + "' is not there any more";
  auto status = text_of(task, attribute::kStatus);
  if (status == state::kTaken) return "task '" + id + "' is held under another lease";
  return "task '" + id + "' is not held under this lease: it is " + std::string(status);
}

// A failed condition as the caller sees it.
tl::unexpected<Error> conflict(const std::string& id, const Error& error) {
  if (error.code != ErrorCode::kConditionalCheckFailed) return fail(error);
  auto detail = std::dynamic_pointer_cast<const ConditionFailed>(error.detail);
  return fail(ErrorCode::kConflict, held_elsewhere(id, detail ? detail->item : ItemRef()));
}

// The name that the history uses.
std::string_view kind_of(Settlement::Kind kind) {
  return kind == Settlement::Kind::kFail ? "failed" : "released";
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
    return invalid("task '" + settlement.id + "': cost is told when the work has ended, not with a heartbeat");
  }
  if (!is_cost(*settlement.cost)) return invalid("task '" + settlement.id + "': cost must be " + kCostRange);
  return {};
}

}  // namespace

Async<std::vector<Result<ItemRef>>> Queue::settle(std::vector<Settlement> settlements) {
  if (gone_) co_return std::vector<Result<ItemRef>>(settlements.size(), fail(*gone_));
  std::vector<Result<ItemRef>> out = known_tasks(settlements);
  for (size_t i = 0; i < settlements.size(); ++i) {
    if (!out[i] || *out[i]) continue;
    // Not in the book: another daemon's claim, or nobody's.
    auto task = co_await get(settlements[i].id);
    out[i] = std::move(task);
  }
  std::vector<EditItemInput> writes;
  std::vector<size_t> places;
  writes.reserve(settlements.size());
  places.reserve(settlements.size());
  for (size_t i = 0; i < settlements.size(); ++i) {
    if (!out[i]) continue;
    if (text_of(*out[i], attribute::kStatus) != state::kTaken ||
        (text_of(*out[i], attribute::kLease) != settlements[i].lease && !FRESHET_PLANTED("settle-not-fenced"))) {
      out[i] = fail(ErrorCode::kConflict, held_elsewhere(settlements[i].id, *out[i]));
      continue;
    }
    const Outcome outcome = outcome_of(settlements[i], *out[i]);
    if (outcome.if_not_replaced.empty()) {
      auto write = settling_write(settlements[i], outcome, *out[i]);
      if (settlements[i].cost) write = with_cost(std::move(write), *settlements[i].cost);
      writes.push_back(std::move(write));
      places.push_back(i);
      continue;
    }
    auto ended = co_await settle_replaced(settlements[i], outcome, *out[i]);
    out[i] = std::move(ended);
  }
  if (writes.empty()) co_return out;
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    out[places[i]] = settled(settlements[places[i]], answers[i]);
  }
  co_return out;
}

// For each settlement the task as the book knows it, a null ref where it knows nothing, or why it is refused.
std::vector<Result<ItemRef>> Queue::known_tasks(const std::vector<Settlement>& settlements) {
  std::vector<Result<ItemRef>> out;
  out.reserve(settlements.size());
  for (const auto& settlement : settlements) {
    if (auto ok = check(settlement); !ok) {
      out.push_back(fail(ok.error()));
    } else {
      const Lease* lease = leases_.find(settlement.id);
      out.push_back(lease && lease->token == settlement.lease ? lease->task : ItemRef());
    }
  }
  return out;
}

// The state that the task goes to; none for a heartbeat.
Outcome Queue::outcome_of(const Settlement& settlement, const ItemRef& task) {
  Outcome out;
  switch (settlement.kind) {
    case Settlement::Kind::kComplete:
      out.to = state::kSuccess;
      break;
    case Settlement::Kind::kHeartbeat:
      break;
    case Settlement::Kind::kFail:
      out = after_failure(task, settings_, settlement.final, settlement.delay, services_.random.unit());
      break;
    case Settlement::Kind::kRelease:
      out = after_release(task, settlement.delay);
      break;
  }
  return out;
}

EditItemInput Queue::settling_write(Settlement& settlement, const Outcome& outcome, const ItemRef& task) {
  auto now = wall();
  if (settlement.kind == Settlement::Kind::kComplete) {
    return kept(complete(table_, task, std::move(settlement.result), now), settings_.keep, now);
  }
  if (settlement.kind == Settlement::Kind::kHeartbeat) {
    const Lease* lease = leases_.find(settlement.id);
    auto beat = std::max(lease ? lease->beat : 0, int_of(task, attribute::kLeaseBeat, 0));
    return heartbeat(table_, task, std::min(beat, kMaxBeat) + 1);
  }
  auto write = end_claim(table_, task, outcome, kind_of(settlement.kind), settlement.error, lane_of(task), now);
  return kept(std::move(write), settings_.keep, now);
}

// Runs separately, because it looks at other tasks of its key.
Async<Result<ItemRef>> Queue::settle_replaced(Settlement settlement, Outcome outcome, ItemRef task) {
  std::string error = settlement.error;
  auto answer = co_await end_replaced(std::move(task), outcome, kind_of(settlement.kind), std::move(error));
  co_return settled(settlement, answer);
}

Result<ItemRef> Queue::settled(const Settlement& settlement, Result<WriteOutput>& answer) {
  if (!answer) {
    auto error = conflict(settlement.id, answer.error());
    if (error.value().code == ErrorCode::kConflict) {
      FRESHET_REACHED("a settlement comes too late");
      const auto detail = std::dynamic_pointer_cast<const ConditionFailed>(answer.error().detail);
      taken_away(settlement.id, settlement.lease, detail ? detail->item : ItemRef());
    }
    return error;
  }
  ItemRef task = std::move(answer->attributes);
  if (settlement.kind == Settlement::Kind::kHeartbeat) {
    auto beat = int_of(task, attribute::kLeaseBeat, 0);
    auto duration = lease_duration(task);
    const Lease* known = leases_.find(settlement.id);
    // A beat that is overtaken by the end of its own claim must not bring the lease back.
    if (known && known->token == settlement.lease && beat > known->beat && !FRESHET_PLANTED("heartbeat-not-kept")) {
      leases_.start(settlement.id, Lease{settlement.lease, beat, duration, known->mine, task}, boot());
    }
    return task;
  }
  const auto since = leases_.claimed_at(settlement.id, settlement.lease);
  if (since && settlement.kind == Settlement::Kind::kComplete) service_times_.add(boot() - *since, boot());
  count_attempt(settlement, task, since);
  if (limits_.on()) charge_difference(settlement, task);
  const Lease* lease = is_rated() ? leases_.find(settlement.id) : nullptr;
  if (lease && lease->token == settlement.lease && lease->call) {
    const bool by_cost = settings_.limits.counts_cost;
    if (settlement.kind != Settlement::Kind::kRelease) {
      lease->call->accepted(boot(), {}, by_cost ? settlement.cost : std::nullopt);
    } else if (settlement.begun) {
      lease->call->refused(boot());
    } else {
      lease->call->never_began();
    }
    wake();  // By RATE_LIMIT another one may start now.
  }
  leases_.forget(settlement.id, settlement.lease);
  moved(task);
  return task;
}

milliseconds Queue::lease_duration(const ItemRef& task) const {
  // A lease that names nobody, as only a client can write it, is no lease: it has ended.
  if (has(task, attribute::kLease) && text_of(task, attribute::kLease).empty()) return milliseconds(0);
  auto stored = FRESHET_PLANTED("lease-of-the-settings") ? settings_.lease.count()
                                                         : int_of(task, attribute::kLeaseMs, settings_.lease.count());
  return milliseconds(std::clamp<int64_t>(stored, 1, int64_t{366} * 24 * 3600 * 1000));
}

void Queue::settle_later(std::vector<Settlement> settlements) {
  scope_.spawn(settle_quietly(std::move(settlements)));
}

Async<void> Queue::settle_quietly(std::vector<Settlement> settlements) {
  auto settled = co_await settle(std::move(settlements));
  for (auto& task : settled) {
    if (!task) log_.debug("GIVE_BACK_FAILED", {{"queue", table_}, {"message", task.error().message}});
  }
}

Async<void> Queue::release_held() {
  left_in_work_.clear();
  write_spells(true);
  co_await keep_learnt_at_stop();
  std::vector<Settlement> settlements;
  for (auto& [id, token] : leases_.held()) {
    Settlement settlement;
    settlement.kind = Settlement::Kind::kRelease;
    settlement.id = std::move(id);
    settlement.lease = std::move(token);
    settlement.begun = false;  // The daemon stops, and nobody reads its counts.
    settlements.push_back(std::move(settlement));
  }
  if (settlements.empty()) co_return;
  auto count = settlements.size();
  co_await settle_quietly(std::move(settlements));
  FRESHET_REACHED("leases released at a stop");
  log_.info("LEASES_RELEASED_AT_STOP", {{"queue", table_}, {"tasks", count}});
}

std::string_view Queue::stale(const ItemRef& task) {
  return expired(task, wall(), definition_.ttl_in_milliseconds, deadline_margin(true, true));
}

// A task left its holder: it may be work again, now or later.
void Queue::moved(const ItemRef& task) {
  auto status = text_of(task, attribute::kStatus);
  if (status == state::kPending) {
    lane_filled(task);
    due_by(int_of(task, attribute::kDeadline, kNever));
    wake();
    if (processors_ == 0) start_soon(nanoseconds(0));
  } else if (status == state::kDelayed) {
    delayed(text_of(task, attribute::kId), int_of(task, attribute::kNotBefore, 0));
  } else {
    count_end(task);
  }
}

}  // namespace freshet
