// A queue does this by itself: end leases, let delayed tasks become due, look around, publish `Start`, follow its
// table's stream. docs/lifecycle.md, "Wake-ups".
#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr uint32_t kStep = 256;  // Tasks moved before others get their turn.
// Looking through the whole table for held tasks: so many at a time, again after this pause or this many times as long
// as it took.
constexpr uint32_t kUnindexedStep = 1000;
constexpr milliseconds kUnindexedPause{60'000};
constexpr int kUnindexedShare = 100;
constexpr const char* kLeaseEnded = "lease ended";
constexpr const char* kDaemonDied = "daemon died";
constexpr const char* kDiedInWork = "the daemon died while this was in work";

}  // namespace

// How long until that wall time, at most a day: clocks step, the timer looks again.
nanoseconds Queue::due_in(int64_t wall_ms) const {
  constexpr int64_t kDay = int64_t{24} * 3600 * 1000;
  auto now = epoch_ms(wall());
  return milliseconds(wall_ms <= now ? 0 : std::min(wall_ms, now + kDay) - now);
}

void Queue::begin() {
  if (begun_) return;
  begun_ = true;
  scope_.spawn(begin_work());
}

Async<void> Queue::begin_work() {
  co_await watch_taken(true);
  scope_.spawn(follow());
  start_due_ = boot();
  look_due_ = boot();
  request_tick();
}

void Queue::request_tick() {
  if (!begun_ || tick_posted_) return;
  tick_posted_ = true;
  services_.scheduler.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    tick_posted_ = false;
    if (!ticking_) scope_.spawn(tick());
  });
}

Async<void> Queue::tick() {
  ticking_ = true;
  for (;;) {
    tick_again_ = false;
    end_pauses();
    keep_learnt();
    auto reclaimed = co_await end_leases();
    auto promoted = co_await promote_due();
    if (limits_.on() && limits_.due(boot(), kStep)) tick_again_ = true;
    co_await shed_hopeless();
    if (boot() >= look_due_) co_await look_around();
    if (gone_) break;
    co_await publish_start();
    if (!reclaimed && !promoted && !tick_again_) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  ticking_ = false;
  arm();
}

void Queue::arm() {
  auto now = boot();
  auto next = gone_ ? look_due_ : std::min({claims_.leases().next_end(), look_due_, start_due_});
  if (!gone_ && hopeless_ms_ != kNever) next = std::min(next, std::max(now + due_in(hopeless_ms_), shed_again_));
  if (!gone_ && next_due_ms_ != kNever && !noting_delays_) next = std::min(next, now + due_in(next_due_ms_));
  if (!gone_) next = std::min(next, std::max(now, delays_.next_due()));
  if (!gone_ && limits_.on()) next = std::min(next, std::max(now, limits_.next_due()));
  if (!gone_ && downstream_.rate) next = std::min(next, std::max(now, kept_rate_.next_look()));
  if (const auto end = pauses_.next_end()) next = std::min(next, std::max(now + due_in(epoch_ms(*end)), pause_look_));
  if (next == armed_for_ && timer_) return;
  if (timer_) services_.scheduler.cancel(timer_);
  armed_for_ = next;
  timer_ = services_.scheduler.call_at(next, [this] {
    timer_ = 0;
    request_tick();
  });
}

// Something is due at `when`: the timer must not sleep longer.
void Queue::hurry(BootTime when) {
  if (!begun_) return;
  if (ticking_) {
    tick_again_ = tick_again_ || when <= boot();
  } else if (!timer_ || when < armed_for_) {
    arm();
  }
}

// Work became eligible without an event that would start a processor.
void Queue::start_soon(nanoseconds delay) {
  auto when = boot() + delay;
  if (when >= start_due_) return;
  start_due_ = when;
  hurry(when);
}

// True if there may be more.
Async<bool> Queue::end_leases() {
  auto lapses = claims_.lapsed(boot(), kStep);
  if (lapses.empty()) co_return false;
  const bool more = lapses.size() == kStep;
  std::vector<EditItemInput> writes;
  std::vector<Lapse> written;
  for (auto& lapse : lapses) {
    if (!lapse.outcome.if_not_replaced.empty()) {
      scope_.spawn(end_replaced_lease(std::move(lapse)));
      continue;
    }
    const auto lane = lanes_.of_pending(lapse.task);
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
    if (claims_.leases().claimed_at(lapse.id, lapse.token)) punctuality_.wasted(WastedCall::kLeaseEnded, boot());
    claims_.ended(lapse.id, lapse.token);
    moved(answer->attributes);
  } else if (answer.error().code == ErrorCode::kConditionalCheckFailed) {
    FRESHET_REACHED("a lease went on");
    const ItemRef task = Claims::task_of(answer.error());
    if (!claims_.lapse_went_on(lapse.id, lapse.token, task, boot())) taken_away(lapse.id, lapse.token, task);
  } else if (const Lease* lease = claims_.leases().find(lapse.id);
             lease && answer.error().code == ErrorCode::kValidation) {
    scope_.spawn(set_aside(lease->task, std::move(answer.error().message)));
    claims_.ended(lapse.id, lapse.token);
  }
}

// A level, not an edge: finds whatever no event told.
Async<void> Queue::look_around() {
  look_due_ = boot() + settings_.look_around;
  co_await look_for_table();
  if (gone_) co_return;
  follow_clock();
  next_due_ms_ = std::min<int64_t>(next_due_ms_, epoch_ms(wall()));  // Looks again: clocks step, clients write.
  hopeless_ms_ = std::min<int64_t>(hopeless_ms_, epoch_ms(wall()));
  if (lanes_.may_check()) scope_.spawn(check_lanes());
  if (std::exchange(adopt_again_, false)) scope_.spawn(adopt_all());
  if (keys_.may_replace_again()) scope_.spawn(replace_again());
  auto books = co_await services_.tables.books(table_);
  if (books) {
    auto it = books->stock.find(std::string(state::kTaken));
    auto taken = it == books->stock.end() ? 0 : it->second;
    if (taken != claims_.leases().size()) FRESHET_REACHED("a look around counts other leases");
    if (taken != claims_.leases().size()) co_await watch_taken(false);
    const bool lacks_some = taken > claims_.leases().size() && claims_.in_flight() == 0;
    if (lacks_some && boot() >= unindexed_look_ && !std::exchange(looks_unindexed_, true)) {
      scope_.spawn(watch_unindexed());
    }
  }
  if (future_ms_ <= epoch_ms(created_bound())) {
    wake();
    start_soon(nanoseconds(0));
  }
  future_ms_ = kNever;
  auto page = co_await future_head();
  if (page && !page->items.empty()) {
    future_ms_ = int_of(page->items[0], attribute::kCreated, 0);
    look_due_ = std::min(look_due_, boot() + due_in(future_ms_ - settings_.created_skew.count()));
  }
  if (!waiters_.empty() || (processors_ == 0 && start_due_ == BootTime::max())) {
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
    auto page = co_await heads(state::kTaken, kStep, false, std::move(start));
    if (!page) co_return;
    std::vector<ItemRef> dead;
    for (auto& task : page->items) {
      auto token = text_of(task, attribute::kLease);
      if (starting && claims_.is_of_dead_daemon(token) && !FRESHET_PLANTED("dead-leases-left")) {
        FRESHET_REACHED("a lease of a dead daemon ended");
        dead.push_back(std::move(task));
      } else {
        claims_.saw_held(task, boot());
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
    for (const auto& task : page->items) claims_.saw_held(task, boot());
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  unindexed_look_ = boot() + std::max<nanoseconds>(kUnindexedPause, kUnindexedShare * (boot() - began));
  looks_unindexed_ = false;
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
    auto write = end_claim(table_, task, outcome, kDaemonDied, kDiedInWork, lanes_.of_pending(task), wall());
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
  if (boot() < start_due_) co_return;
  start_due_ = BootTime::max();
  if (settings_.start_topic.empty() || processors_ > 0 || draining_) co_return;
  const auto work = co_await has_work();
  if (!work || !*work) {
    if (!work) start_due_ = boot() + settings_.start_retry;
    co_return;
  }
  start_due_ = std::min(start_due_, boot() + settings_.start_retry);
  PublishInput input{settings_.start_topic, "Start", "", {}};
  auto published = co_await services_.topics.publish(std::move(input));
  if (published) {
    log_.debug("START_PUBLISHED", {{"queue", table_}, {"topic", settings_.start_topic}});
  } else {
    log_.warn("START_FAILED", {{"queue", table_}, {"message", published.error().message}});
  }
}

void Queue::processor_began() {
  ++processors_;
}

void Queue::processor_ended() {
  --processors_;
  if (processors_ == 0) start_soon(settings_.start_retry);
}

void Queue::slots_freed() {
  for (Signal* signal : told_of_drain_) signal->notify();
}

void Queue::drain() {
  draining_ = true;
  for (Signal* signal : told_of_drain_) signal->notify();
  wake_all();
}

}  // namespace freshet
