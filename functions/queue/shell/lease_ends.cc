#include "functions/queue/shell/lease_ends.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/own_write.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

constexpr uint32_t kUnindexedStep = 1000;  // The items that a search of the whole table reads at a time.
constexpr const char* kLeaseEnded = "lease ended";
constexpr const char* kDaemonDied = "daemon died";
constexpr const char* kDiedInWork = "the daemon died while this was in work";

}  // namespace

// True if there may be more.
Async<bool> LeaseEnds::end_leases() {
  auto lapses = core_.claims.lapsed(boot(), kMovedAtOnce);
  if (lapses.empty()) co_return false;
  const bool more = lapses.size() == kMovedAtOnce;
  std::vector<EditItemInput> writes;
  std::vector<Lapse> written;
  for (auto& lapse : lapses) {
    if (!lapse.outcome.if_not_replaced.empty()) {
      scope_.spawn(end_replaced_lease(std::move(lapse)));
      continue;
    }
    const auto lane = core_.lanes.of_pending(lapse.task);
    auto write = end_claim(table_, lapse.task, lapse.outcome, kLeaseEnded, kLeaseEnded, lane, wall());
    writes.emplace_back(kept(std::move(write), settings_.keep, counted_from()));
    written.push_back(std::move(lapse));
  }
  auto answers = co_await sure_.edit(std::move(writes), {}, SureWrites::kHurry);
  for (size_t i = 0; i < answers.size(); ++i) lease_ended(written[i], answers[i]);
  co_return more;
}

Async<void> LeaseEnds::end_replaced_lease(Lapse lapse) {
  std::string error = kLeaseEnded;
  const KeyedTasks::EndOfClaim how{kLeaseEnded, end_of_claim::kEnded};
  auto answer = co_await parts_.keyed.end_replaced(lapse.task, lapse.outcome, how, std::move(error));
  lease_ended(lapse, answer);
}

// The write that was to end a lease is answered. If it is refused, the holder was faster, or has sent a heartbeat that
// this daemon did not know of.
void LeaseEnds::lease_ended(const Lapse& lapse, Result<WriteOutput>& answer) {
  if (answer) {
    log_.warn("LEASE_ENDED", {{"queue", table_}, {"taskId", lapse.id}});
    if (core_.claims.leases().claimed_at(lapse.id, lapse.token))
      parts_.counts.punctuality().wasted(WastedCall::kLeaseEnded, boot());
    core_.claims.ended(lapse.id, lapse.token);
    parts_.settlements.moved(answer->attributes);
  } else if (answer.error().code == ErrorCode::kConditionalCheckFailed) {
    FRESHET_REACHED("a lease went on");
    const ItemRef task = Claims::task_of(answer.error());
    if (!core_.claims.lapse_went_on(lapse.id, lapse.token, task, boot()))
      parts_.counts.taken_away(lapse.id, lapse.token, task);
  } else if (const Lease* lease = core_.claims.leases().find(lapse.id);
             lease && answer.error().code == ErrorCode::kValidation) {
    scope_.spawn(parts_.settlements.set_aside(lease->task, std::move(answer.error().message)));
    core_.claims.ended(lapse.id, lapse.token);
  }
}

// Begins to time every held task that is not timed yet. At the start, it also ends claims of this node's dead
// incarnations.
Async<void> LeaseEnds::watch_taken(bool starting) {
  watched_ = boot();
  Item start;
  for (;;) {
    auto page = co_await parts_.table.heads(state::kTaken, kMovedAtOnce, false, std::move(start));
    if (!page) co_return;
    std::vector<ItemRef> dead;
    for (auto& task : page->items) {
      auto token = text_of(task, attribute::kLease);
      if (starting && core_.claims.is_of_dead_daemon(token) && !FRESHET_PLANTED("dead-leases-left")) {
        FRESHET_REACHED("a lease of a dead daemon ended");
        dead.push_back(std::move(task));
      } else {
        core_.claims.saw_held(task, boot());
      }
    }
    if (!dead.empty()) co_await end_dead(std::move(dead));
    start = std::move(page->last_evaluated_key);
    if (start.empty()) co_return;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
}

// Held tasks without a numeric `taskCreated`, or without a place (layout.h), which clients may write, are in no index.
// Only a search of the whole table finds them. They are timed like all others. If the books have more held tasks even
// then, they may be wrong: a former owner's write may have been carried out after the count had read its item.
Async<void> LeaseEnds::watch_unindexed() {
  const auto began = boot();
  bool is_whole = false;
  Item start;
  do {
    ScanInput scan;
    scan.table = table_;
    scan.filter = layout_.has_places ? "taskStatus = :t AND NOT (taskPlace = :t AND attribute_type(taskRank, :n))"
                                     : "taskStatus = :t AND NOT attribute_type(taskCreated, :n)";
    scan.placeholders.values.set(":n", Value("N"));
    scan.placeholders.values.set(":t", Value(state::kTaken));
    scan.limit = kUnindexedStep;
    scan.exclusive_start_key = std::move(start);
    auto page = co_await services_.tables.scan(std::move(scan));
    if (!page) break;  // The next look tries again.
    for (const auto& task : page->items) core_.claims.saw_held(task, boot());
    start = std::move(page->last_evaluated_key);
    is_whole = start.empty();
    if (!is_whole) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!is_whole);
  const bool lacks = co_await lacks_some();
  if (is_whole && lacks) services_.tables.doubt_books(table_);
  core_.agenda.search_ended(began, boot());
  parts_.timer.arm();
}

Async<bool> LeaseEnds::lacks_some() {
  const auto books = co_await services_.tables.books(table_);
  if (!books || core_.claims.in_flight() > 0) co_return false;
  const auto taken = books->stock.find(std::string(state::kTaken));
  co_return taken != books->stock.end() && taken->second > core_.claims.leases().size();
}

void LeaseEnds::forget_others() {
  for (const auto& [id, token] : core_.claims.leases().pulled()) core_.claims.ended(id, token);
  for (const auto& id : core_.claims.leases().ended(boot(), SIZE_MAX)) {
    const std::string token = core_.claims.leases().find(id)->token;
    core_.claims.ended(id, token);
  }
}

Async<void> LeaseEnds::end_dead(std::vector<ItemRef> tasks) {
  std::vector<EditItemInput> writes;
  std::vector<ItemRef> written;
  for (const auto& task : tasks) {
    auto outcome = after_restart(task, settings_);
    if (!outcome.if_not_replaced.empty()) {
      scope_.spawn(end_replaced_dead(task, outcome));
      continue;
    }
    auto write = end_claim(table_, task, outcome, kDaemonDied, kDiedInWork, core_.lanes.of_pending(task), wall());
    writes.emplace_back(kept(std::move(write), settings_.keep, counted_from()));
    written.push_back(task);
  }
  auto answers = co_await sure_.edit(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) dead_ended(written[i], answers[i]);
  log_.info("LEASES_ENDED_AT_START", {{"queue", table_}, {"tasks", tasks.size()}});
}

Async<void> LeaseEnds::end_replaced_dead(ItemRef task, Outcome outcome) {
  std::string error = kDiedInWork;
  const KeyedTasks::EndOfClaim how{kDaemonDied, end_of_claim::kEnded};
  auto answer = co_await parts_.keyed.end_replaced(task, outcome, how, std::move(error));
  dead_ended(task, answer);
}

void LeaseEnds::dead_ended(const ItemRef& task, Result<WriteOutput>& answer) {
  if (answer) {
    parts_.settlements.moved(answer->attributes);
  } else if (answer.error().code == ErrorCode::kValidation) {
    scope_.spawn(parts_.settlements.set_aside(task, std::move(answer.error().message)));
  }
}

}  // namespace freshet
