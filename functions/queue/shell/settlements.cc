#include "functions/queue/shell/settlements.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"
#include "runtime/api/cancel_mark.h"

namespace freshet {

namespace {

// If this fails, the next take that meets the task ends it.
Async<void> without_answer(Async<Result<WriteOutput>> work) {
  co_await work;
}

}  // namespace

Async<std::vector<Result<ItemRef>>> Settlements::settle(std::vector<Settlement> settlements) {
  if (parts_.table.gone()) co_return std::vector<Result<ItemRef>>(settlements.size(), fail(*parts_.table.gone()));
  std::vector<Result<ItemRef>> out;
  out.reserve(settlements.size());
  for (const auto& settlement : settlements) out.push_back(core_.claims.known_task(settlement));
  for (size_t i = 0; i < settlements.size(); ++i) {
    if (!out[i] || *out[i]) continue;
    // The claim is not in the book: it is another daemon's, or nobody's.
    auto task = co_await parts_.admin.get(settlements[i].id);
    out[i] = std::move(task);
  }
  std::vector<EditItemInput> writes;
  std::vector<size_t> places;
  SureWrites::Ends ends;
  milliseconds patience = SureWrites::kPatience;  // A heartbeat must not wait for another one in the same call.
  writes.reserve(settlements.size());
  places.reserve(settlements.size());
  for (size_t i = 0; i < settlements.size(); ++i) {
    if (!out[i]) continue;
    if (auto may = Claims::may_settle(settlements[i], *out[i]); !may) {
      if (!Claims::has_settled(settlements[i], *out[i])) out[i] = fail(std::move(may.error()));
      continue;
    }
    const Outcome outcome = core_.claims.outcome_of(settlements[i], *out[i]);
    if (outcome.if_not_replaced.empty()) {
      const auto lane = Claims::needs_lane(settlements[i]) ? core_.lanes.of_pending(*out[i]) : std::string();
      auto write = core_.claims.settling_write(settlements[i], outcome, *out[i], lane, wall(), counted_from());
      if (settlements[i].cost) write = with_cost(std::move(write), *settlements[i].cost);
      writes.push_back(std::move(write));
      if (!sure_.is_immediate()) ends.push_back(Claims::end_of(settlements[i].kind));
      if (settlements[i].kind == Settlement::Kind::kHeartbeat) patience = std::min(patience, settings_.lease / 3);
      places.push_back(i);
      continue;
    }
    auto ended = co_await settle_replaced(settlements[i], outcome, *out[i]);
    out[i] = std::move(ended);
  }
  if (writes.empty()) co_return out;
  auto answers = co_await sure_.edit(std::move(writes), std::move(ends), patience);
  for (size_t i = 0; i < answers.size(); ++i) {
    Settlement& settlement = settlements[places[i]];
    if (!answers[i]) {
      if (ItemRef task = Claims::was_cancelled(settlement, answers[i].error())) {
        auto ended = co_await end_cancelled(settlement, std::move(task));
        answers[i] = std::move(ended);
      }
    }
    out[places[i]] = settled(settlement, answers[i]);
  }
  co_return out;
}

// The cancel was stored before the write that was to let the task wait again.
Async<Result<WriteOutput>> Settlements::end_cancelled(Settlement settlement, ItemRef task) {
  FRESHET_REACHED("cancelled while it was given back");
  const Outcome outcome = core_.claims.outcome_of(settlement, task);
  auto write = core_.claims.settling_write(settlement, outcome, task, {}, wall(), counted_from());
  if (settlement.cost) write = with_cost(std::move(write), *settlement.cost);
  auto answer = co_await parts_.table.edit(std::move(write), Claims::end_of(settlement.kind));
  co_return answer;
}

// Runs separately, because it looks at other tasks of the key.
Async<Result<ItemRef>> Settlements::settle_replaced(Settlement settlement, Outcome outcome, ItemRef task) {
  std::string error = settlement.error;
  const KeyedTasks::EndOfClaim how{Claims::history_name(settlement.kind), Claims::end_of(settlement.kind)};
  auto answer = co_await parts_.keyed.end_replaced(std::move(task), outcome, how, std::move(error));
  co_return settled(settlement, answer);
}

Result<ItemRef> Settlements::settled(const Settlement& settlement, Result<WriteOutput>& answer) {
  if (!answer) {
    auto error = Claims::refusal(settlement.id, answer.error());
    if (error.value().code == ErrorCode::kConflict) {
      FRESHET_REACHED("a settlement comes too late");
      parts_.counts.taken_away(settlement.id, settlement.lease, Claims::task_of(answer.error()));
    }
    return error;
  }
  ItemRef task = std::move(answer->attributes);
  if (settlement.kind == Settlement::Kind::kHeartbeat) {
    core_.claims.beaten(settlement, task, boot());
    return task;
  }
  const auto since = core_.claims.leases().claimed_at(settlement.id, settlement.lease);
  if (since && settlement.kind == Settlement::Kind::kComplete) core_.times.worked(boot() - *since, boot());
  parts_.counts.count_attempt(settlement, task, since);
  if (core_.limits.on()) core_.limits.settled(settlement, core_.claims.leases().find(settlement.id), task, boot());
  if (core_.limits.is_rated() && core_.limits.call_ended(settlement, core_.claims.leases().find(settlement.id), boot()))
    parts_.takes.wake();
  core_.claims.ended(settlement.id, settlement.lease);
  moved(task);
  return task;
}

void Settlements::settle_later(std::vector<Settlement> settlements) {
  base_.lasting.spawn(settle_quietly(std::move(settlements)));
}

Async<void> Settlements::settle_quietly(std::vector<Settlement> settlements) {
  auto settled = co_await settle(std::move(settlements));
  for (auto& task : settled) {
    if (!task) log_.debug("GIVE_BACK_FAILED", {{"queue", table_}, {"message", task.error().message}});
  }
}

Async<void> Settlements::release_held() {
  const bool is_given_up = core_.agenda.given_up();
  base_.left_in_work.clear();
  if (!is_given_up) parts_.sheds.write_spells(true);
  co_await give_back_held();
  if (!is_given_up) co_await parts_.learnt.keep_learnt_at_stop();
}

Async<void> Settlements::give_back_held() {
  std::vector<Settlement> settlements;
  for (auto& [id, token] : core_.claims.leases().held()) {
    Settlement settlement;
    settlement.kind = Settlement::Kind::kRelease;
    settlement.id = std::move(id);
    settlement.lease = std::move(token);
    settlement.begun = false;  // The daemon is stopping, and nobody reads its counts.
    settlements.push_back(std::move(settlement));
  }
  if (settlements.empty()) co_return;
  auto count = settlements.size();
  co_await settle_quietly(std::move(settlements));
  count -= std::min(count, core_.claims.leases().held().size());
  if (count == 0) co_return;
  FRESHET_REACHED("leases released at a stop");
  log_.info("LEASES_RELEASED_AT_STOP", {{"queue", table_}, {"tasks", count}});
}

// A task left its holder and may be taken again, now or later.
void Settlements::moved(const ItemRef& task) {
  auto status = text_of(task, attribute::kStatus);
  const auto end_if_cancelled = [&] {
    if (!is_cancel_requested(task)) return;
    // The mark came when the end of its lease had already been decided. A redrive in between removes it.
    auto write = kept(end_waiting(table_, task, state::kCancelled, {}, {}, wall()), settings_.keep, counted_from());
    write.unchanged[2] = attribute::kCancelRequested;
    scope_.spawn(without_answer(parts_.table.edit(std::move(write))));
  };
  const bool waits = status == state::kPending || status == state::kDelayed;
  if (waits && core_.agenda.given_up()) return;  // The daemon that serves the queue finds it.
  if (status == state::kPending) {
    end_if_cancelled();
    parts_.adoption.lane_filled(task);
    parts_.shedding.due_by(int_of(task, attribute::kDeadline, kNever));
    parts_.takes.wake();
    if (!core_.agenda.has_processor()) parts_.timer.start_soon(nanoseconds(0));
  } else if (status == state::kDelayed) {
    end_if_cancelled();
    const WallTime written{milliseconds(int_of(task, attribute::kUpdated, epoch_ms(wall())))};
    parts_.promotion.delayed(text_of(task, attribute::kId), written, int_of(task, attribute::kNotBefore, 0));
  } else {
    parts_.counts.count_end(task);
  }
}

// A task that cannot be claimed (it leaves no room for a lease) would stand at the head for ever, and one whose claim
// cannot end would stay TAKEN.
Async<void> Settlements::set_aside(ItemRef task, std::string why) {
  const auto done = co_await parts_.table.edit(freshet::set_aside(table_, task));
  if (done) parts_.counts.count_end(done->attributes);
  log_.warn("TASK_SET_ASIDE", {{"taskId", text_of(task, attribute::kId)}, {"why", why}, {"done", done.has_value()}});
}

}  // namespace freshet
