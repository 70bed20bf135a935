// A queue does this by itself: end leases, let delayed tasks become due, look around, publish `Start`, follow its
// table's stream. docs/lifecycle.md, "Wake-ups".
#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr uint32_t kMovedAtOnce = 256;     // Tasks moved before others get their turn.
constexpr uint32_t kUnindexedStep = 1000;  // Items of the whole table read at a time, looking for held tasks.
constexpr const char* kLeaseEnded = "lease ended";
constexpr const char* kDaemonDied = "daemon died";
constexpr const char* kDiedInWork = "the daemon died while this was in work";

}  // namespace

void Queue::begin() {
  if (core_.agenda.begun()) return;
  core_.agenda.begin();
  scope_.spawn(begin_work());
}

Async<void> Queue::begin_work() {
  co_await watch_taken(true);
  scope_.spawn(follow());
  core_.agenda.start_by(boot());
  core_.agenda.look_by(boot());
  request_tick();
}

void Queue::request_tick() {
  if (!core_.agenda.begun() || tick_posted_) return;
  tick_posted_ = true;
  services_.scheduler.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    tick_posted_ = false;
    if (!core_.agenda.is_ticking()) scope_.spawn(tick());
  });
}

Async<void> Queue::tick() {
  core_.agenda.tick_began();
  for (;;) {
    core_.agenda.round_began();
    end_pauses();
    co_await look_at_policy();
    if (const auto limit = core_.limits.looked(boot())) scope_.spawn(write_learnt(*limit));
    if (auto keys = core_.limits.names_to_keep(boot())) scope_.spawn(write_learnt_keys(std::move(*keys)));
    auto reclaimed = co_await end_leases();
    auto promoted = co_await promote_due();
    if (core_.limits.on() && core_.limits.due(boot(), kMovedAtOnce)) core_.agenda.another_round();
    co_await shed_hopeless();
    if (core_.agenda.look_is_due(boot())) co_await look_around();
    if (gone_) break;
    co_await publish_start();
    if (!reclaimed && !promoted && !core_.agenda.goes_on()) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  core_.agenda.tick_ended();
  arm();
}

void Queue::arm() {
  auto now = boot();
  auto next = gone_ ? core_.agenda.look_due()
                    : std::min({core_.claims.leases().next_end(), core_.agenda.look_due(), core_.agenda.start_due()});
  if (!gone_) {
    const auto shown = wall();
    next = std::min({next, core_.shedder.next_look(shown, now), core_.delays.next_look(shown, now),
                     core_.limits.next_look(now), policy_guard_.next_look()});
  }
  if (const auto end = core_.pauses.next_end()) {
    next = std::min(next, std::max(now + due_in(epoch_ms(*end), wall()), pause_look_));
  }
  if (!core_.agenda.arm(next)) return;
  if (timer_) services_.scheduler.cancel(timer_);
  timer_ = services_.scheduler.call_at(next, [this] {
    timer_ = 0;
    core_.agenda.fired();
    request_tick();
  });
}

// Something is due at `when`: the timer must not sleep longer.
void Queue::hurry(BootTime when) {
  if (core_.agenda.hurry(when, boot())) arm();
}

// Work became eligible without an event that would start a processor.
void Queue::start_soon(nanoseconds delay) {
  const auto when = boot() + delay;
  if (core_.agenda.start_by(when)) hurry(when);
}

// True if there may be more.
Async<bool> Queue::end_leases() {
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
    writes.emplace_back(kept(std::move(write), settings_.keep, wall()));
    written.push_back(std::move(lapse));
  }
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) lease_ended(written[i], answers[i]);
  co_return more;
}

Async<void> Queue::end_replaced_lease(Lapse lapse) {
  std::string error = kLeaseEnded;
  auto answer = co_await end_replaced(lapse.task, lapse.outcome, kLeaseEnded, std::move(error));
  lease_ended(lapse, answer);
}

// The write that was to end a lease is answered. If it is refused, the holder was faster, or has sent a heartbeat that
// is news here.
void Queue::lease_ended(const Lapse& lapse, Result<WriteOutput>& answer) {
  if (answer) {
    log_.warn("LEASE_ENDED", {{"queue", table_}, {"taskId", lapse.id}});
    if (core_.claims.leases().claimed_at(lapse.id, lapse.token)) punctuality_.wasted(WastedCall::kLeaseEnded, boot());
    core_.claims.ended(lapse.id, lapse.token);
    moved(answer->attributes);
  } else if (answer.error().code == ErrorCode::kConditionalCheckFailed) {
    FRESHET_REACHED("a lease went on");
    const ItemRef task = Claims::task_of(answer.error());
    if (!core_.claims.lapse_went_on(lapse.id, lapse.token, task, boot())) taken_away(lapse.id, lapse.token, task);
  } else if (const Lease* lease = core_.claims.leases().find(lapse.id);
             lease && answer.error().code == ErrorCode::kValidation) {
    scope_.spawn(set_aside(lease->task, std::move(answer.error().message)));
    core_.claims.ended(lapse.id, lapse.token);
  }
}

// A level, not an edge: finds whatever no event told.
Async<void> Queue::look_around() {
  core_.agenda.look_began(boot(), settings_.look_around);
  co_await look_for_table();
  if (gone_) co_return;
  follow_clock();
  core_.delays.look_again(wall());
  core_.shedder.look_again(wall());
  if (core_.lanes.may_check()) scope_.spawn(check_lanes());
  if (core_.adopter.take_again()) scope_.spawn(adopt_all());
  if (core_.keys.may_replace_again()) scope_.spawn(replace_again());
  auto books = co_await services_.tables.books(table_);
  if (books) {
    auto it = books->stock.find(std::string(state::kTaken));
    auto taken = it == books->stock.end() ? 0 : it->second;
    if (taken != core_.claims.leases().size()) FRESHET_REACHED("a look around counts other leases");
    if (taken != core_.claims.leases().size()) co_await watch_taken(false);
    const bool lacks_some = taken > core_.claims.leases().size() && core_.claims.in_flight() == 0;
    if (lacks_some && core_.agenda.may_search(boot())) scope_.spawn(watch_unindexed());
  }
  if (core_.window.has_come(wall())) {
    wake();
    start_soon(nanoseconds(0));
  }
  core_.window.dated_ahead({});
  auto page = co_await future_head();
  if (page && !page->items.empty()) {
    const int64_t comes_ms = core_.window.dated_ahead(int_of(page->items[0], attribute::kCreated, 0));
    core_.agenda.look_by(boot() + due_in(comes_ms, wall()));
  }
  if (!waiters_.empty() || (!core_.agenda.has_processor() && !core_.agenda.start_is_planned())) {
    auto head = co_await heads(state::kPending, 1, false, Item());
    if (head && !head->items.empty()) {
      wake();
      start_soon(settings_.start_retry);
    }
  }
  write_spells(false);
  auto saved = co_await shed_log_->save();
  if (!saved) log_.warn("SHED_LOG_FAILED", {{"queue", table_}, {"message", saved.error().message}});
}

// The first PENDING task that is dated too far ahead.
Async<Result<Page>> Queue::future_head() {
  QueryInput query;
  query.table = table_;
  query.index = index_;
  query.key_condition = "taskStatus = :s AND taskCreated > :t";
  query.placeholders.values.set(":s", Value(state::kPending));
  query.placeholders.values.set(":t", Value::number(epoch_ms(created_bound())));
  query.limit = 1;
  return read_index(std::move(query));
}

// Begins to time every held task that is not timed yet. At the start, claims of this node's dead incarnations end.
Async<void> Queue::watch_taken(bool starting) {
  Item start;
  for (;;) {
    auto page = co_await heads(state::kTaken, kMovedAtOnce, false, std::move(start));
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

// Held tasks without a numeric `taskCreated`, as clients may write them, are in no index: only the whole table has
// them. They are timed as all others are.
Async<void> Queue::watch_unindexed() {
  const auto began = boot();
  Item start;
  do {
    ScanInput scan;
    scan.table = table_;
    scan.filter = "taskStatus = :t AND NOT attribute_type(taskCreated, :n)";
    scan.placeholders.values.set(":n", Value("N"));
    scan.placeholders.values.set(":t", Value(state::kTaken));
    scan.limit = kUnindexedStep;
    scan.exclusive_start_key = std::move(start);
    auto page = co_await services_.tables.scan(std::move(scan));
    if (!page) break;  // The next look tries again.
    for (const auto& task : page->items) core_.claims.saw_held(task, boot());
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  core_.agenda.search_ended(began, boot());
  arm();
}

Async<void> Queue::end_dead(std::vector<ItemRef> tasks) {
  std::vector<EditItemInput> writes;
  std::vector<ItemRef> written;
  for (const auto& task : tasks) {
    auto outcome = after_restart(task, settings_);
    if (!outcome.if_not_replaced.empty()) {
      scope_.spawn(end_replaced_dead(task, outcome));
      continue;
    }
    auto write = end_claim(table_, task, outcome, kDaemonDied, kDiedInWork, core_.lanes.of_pending(task), wall());
    writes.emplace_back(kept(std::move(write), settings_.keep, wall()));
    written.push_back(task);
  }
  auto answers = co_await services_.tables.edit_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) dead_ended(written[i], answers[i]);
  log_.info("LEASES_ENDED_AT_START", {{"queue", table_}, {"tasks", tasks.size()}});
}

Async<void> Queue::end_replaced_dead(ItemRef task, Outcome outcome) {
  std::string error = kDiedInWork;
  auto answer = co_await end_replaced(task, outcome, kDaemonDied, std::move(error));
  dead_ended(task, answer);
}

void Queue::dead_ended(const ItemRef& task, Result<WriteOutput>& answer) {
  if (answer) {
    moved(answer->attributes);
  } else if (answer.error().code == ErrorCode::kValidation) {
    scope_.spawn(set_aside(task, std::move(answer.error().message)));
  }
}

Async<void> Queue::publish_start() {
  if (!core_.agenda.take_start(boot())) co_return;
  if (settings_.start_topic.empty() || core_.agenda.has_processor() || core_.agenda.draining()) co_return;
  const auto work = co_await has_work();
  if (!work || !*work) {
    if (!work) core_.agenda.start_by(boot() + settings_.start_retry);
    co_return;
  }
  core_.agenda.start_by(boot() + settings_.start_retry);
  PublishInput input{settings_.start_topic, "Start", "", {}};
  auto published = co_await services_.topics.publish(std::move(input));
  if (published) {
    log_.debug("START_PUBLISHED", {{"queue", table_}, {"topic", settings_.start_topic}});
  } else {
    log_.warn("START_FAILED", {{"queue", table_}, {"message", published.error().message}});
  }
}

void Queue::processor_began() {
  core_.agenda.processor_began();
}

void Queue::processor_ended() {
  core_.agenda.processor_ended();
  if (!core_.agenda.has_processor()) start_soon(settings_.start_retry);
}

void Queue::slots_freed() {
  for (Signal* signal : told_of_drain_) signal->notify();
}

void Queue::drain() {
  core_.agenda.drain();
  for (Signal* signal : told_of_drain_) signal->notify();
  wake_all();
}

}  // namespace freshet
