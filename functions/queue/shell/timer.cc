#include "functions/queue/shell/timer.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"
#include "streams/topics.h"

namespace freshet {

namespace {

constexpr seconds kDueLook{10};
constexpr seconds kPulledPause{60};  // Between two messages `Start` for a queue of pull workers.

}  // namespace

void QueueTimer::begin() {
  if (core_.agenda.begun()) return;
  core_.agenda.begin();
  scope_.spawn(begin_work());
}

void QueueTimer::end() {
  core_.agenda.end();
  services_.scheduler.cancel(std::exchange(timer_, 0));
}

Async<void> QueueTimer::begin_work() {
  co_await parts_.lease_ends.watch_taken(true);
  scope_.spawn(parts_.follower.follow());
  core_.agenda.start_by(boot());
  core_.agenda.look_by(boot());
  request_tick();
}

void QueueTimer::request_tick() {
  if (!core_.agenda.begun() || tick_posted_) return;
  tick_posted_ = true;
  services_.scheduler.post([this, alive = std::weak_ptr<bool>(base_.alive)] {
    if (alive.expired()) return;
    tick_posted_ = false;
    if (core_.agenda.begun() && !core_.agenda.is_ticking()) scope_.spawn(tick());
  });
}

Async<void> QueueTimer::tick() {
  core_.agenda.tick_began();
  for (;;) {
    core_.agenda.round_began();
    parts_.pausing.end_pauses();
    co_await parts_.policy.look_at_policy();
    if (const auto limit = core_.limits.looked(boot())) scope_.spawn(parts_.learnt.write_learnt(*limit));
    if (auto keys = core_.limits.names_to_keep(boot())) scope_.spawn(parts_.learnt.write_learnt_keys(std::move(*keys)));
    auto reclaimed = co_await parts_.lease_ends.end_leases();
    auto promoted = co_await parts_.promotion.promote_due();
    if (core_.limits.on() && core_.limits.due(boot(), LeaseEnds::kMovedAtOnce)) core_.agenda.another_round();
    co_await parts_.shedding.shed_hopeless();
    if (core_.agenda.look_is_due(boot())) co_await look_around();
    if (parts_.table.gone()) break;
    co_await publish_start();
    if (!reclaimed && !promoted && !core_.agenda.goes_on()) break;
    co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  core_.agenda.tick_ended();
  arm();
}

void QueueTimer::arm() {
  auto now = boot();
  auto next = parts_.table.gone()
                  ? core_.agenda.look_due()
                  : std::min({core_.claims.leases().next_end(), core_.agenda.look_due(), core_.agenda.start_due()});
  if (!parts_.table.gone()) {
    const auto shown = wall();
    next = std::min({next, core_.shedder.next_look(shown, now), core_.delays.next_look(shown, now),
                     core_.limits.next_look(now), parts_.policy.next_look()});
  }
  if (const auto end = core_.pauses.next_end()) {
    next = std::min(next, std::max(now + due_in(epoch_ms(*end), wall()), parts_.pausing.next_try()));
  }
  if (!core_.agenda.arm(next)) return;
  if (timer_) services_.scheduler.cancel(timer_);
  timer_ = services_.scheduler.call_at(next, [this] {
    timer_ = 0;
    core_.agenda.fired();
    request_tick();
  });
}

// The next tick looks for tasks whose delay is over and for those that are to be shed. Others may have written some,
// and the wall clock may have stepped. An engine bills each query, so there it comes less often.
void QueueTimer::look_for_due() {
  due_looked_ = boot();
  core_.delays.look_again(wall());
  core_.shedder.look_again(wall());
}

// Something is due at `when`: the timer must not sleep longer.
void QueueTimer::hurry(BootTime when) {
  if (core_.agenda.hurry(when, boot())) arm();
}

// Work became eligible without an event that would start a processor.
void QueueTimer::start_soon(nanoseconds delay) {
  const auto when = boot() + delay;
  if (core_.agenda.start_by(when)) hurry(when);
}

// Looks at the store itself, so it finds changes that no event reported.
Async<void> QueueTimer::look_around() {
  core_.agenda.look_began(boot(), settings_.look_around);
  co_await parts_.table.look_for_table();
  if (parts_.table.gone()) co_return;
  parts_.promotion.follow_clock();
  if (Follower::can_follow(services_.tables.traits()) || boot() >= due_looked_ + kDueLook) look_for_due();
  if (core_.lanes.may_check()) scope_.spawn(parts_.adoption.check_lanes());
  if (core_.adopter.take_again()) scope_.spawn(parts_.adoption.adopt_all());
  if (core_.keys.may_replace_again()) scope_.spawn(parts_.keyed.replace_again());
  auto books = co_await services_.tables.books(table_);
  if (books) {
    auto it = books->stock.find(std::string(state::kTaken));
    auto taken = it == books->stock.end() ? 0 : it->second;
    const uint64_t timed = core_.claims.leases().size();
    if (taken != timed) FRESHET_REACHED("a look around counts other leases");
    const bool must_watch = taken != timed || parts_.lease_ends.may_watch();
    if (must_watch) co_await parts_.lease_ends.watch_taken(false);
    // Tasks may have ended since the count.
    const uint64_t most = std::max<uint64_t>(timed, core_.claims.leases().size());
    const bool lacks_some = taken > most && core_.claims.in_flight() == 0;
    if (lacks_some && core_.agenda.may_search(boot())) scope_.spawn(parts_.lease_ends.watch_unindexed());
  }
  if (core_.times.has_come(wall())) {
    parts_.takes.wake();
    start_soon(nanoseconds(0));
  }
  co_await look_for_waiting();
  parts_.sheds.write_spells(false);
  co_await parts_.sheds.save();
}

// Looks for PENDING tasks. Most often there is none, and one query tells: an engine bills each.
Async<void> QueueTimer::look_for_waiting() {
  core_.times.dated_ahead({});
  QueryInput any = parts_.table.in_state(state::kPending);
  any.forward = false;
  any.limit = 1;
  any.whole_items = false;
  const auto newest = co_await parts_.table.read_places(std::move(any));
  if (!newest || newest->items.empty()) co_return;
  auto page = co_await future_head();
  if (page && !page->items.empty()) {
    const int64_t comes_ms = core_.times.dated_ahead(int_of(page->items[0], attribute::kCreated, 0));
    core_.agenda.look_by(boot() + due_in(comes_ms, wall()));
  }
  // Where no stream shows what clients put, nobody else starts a processor for it. One that was started and has not
  // come gets the time of a retry.
  const bool waits_for_one = start_pending_ && boot() < *started_ + settings_.start_retry;
  const bool at_once = !Follower::can_follow(services_.tables.traits()) && !waits_for_one;
  const bool lacks_one = !core_.agenda.has_processor() && (at_once || !core_.agenda.start_is_planned());
  if (!parts_.takes.anyone_waits() && !lacks_one) co_return;
  auto head = co_await parts_.table.heads(state::kPending, 1, false, Item());
  if (!head || head->items.empty()) co_return;
  parts_.takes.wake();
  start_soon(at_once ? milliseconds(0) : settings_.start_retry);
}

// Reads the first PENDING task that is dated too far ahead.
Async<Result<Page>> QueueTimer::future_head() {
  QueryInput query = parts_.table.created_after(state::kPending, parts_.table.created_bound());
  query.limit = 1;
  query.whole_items = false;
  return parts_.table.read_places(std::move(query));
}

Async<void> QueueTimer::publish_start() {
  if (!core_.agenda.take_start(boot())) co_return;
  if (settings_.start_topic.empty() || core_.agenda.has_processor() || core_.agenda.draining()) co_return;
  // Nothing would come of it, and on an engine the message costs some writes. The function may have changed since.
  const bool is_pulled = core_.agenda.is_pulled() && settings_.runner == RunnerKind::kNone;
  if (is_pulled && started_ && boot() < *started_ + kPulledPause) {
    core_.agenda.start_by(*started_ + kPulledPause);
    co_return;
  }
  const auto work = co_await parts_.finder.has_work();
  if (!work || !*work) {
    if (!work) core_.agenda.start_by(boot() + settings_.start_retry);
    co_return;
  }
  core_.agenda.start_by(boot() + settings_.start_retry);
  PublishInput input{settings_.start_topic, "Start", "", {}};
  auto published = co_await services_.topics.publish(std::move(input));
  if (published) {
    started_ = boot();
    start_pending_ = true;
    log_.debug("START_PUBLISHED", {{"queue", table_}, {"topic", settings_.start_topic}});
  } else {
    log_.warn("START_FAILED", {{"queue", table_}, {"message", published.error().message}});
  }
}

void QueueTimer::processor_ended() {
  core_.agenda.processor_ended();
  start_pending_ = false;
  if (!core_.agenda.has_processor()) start_soon(settings_.start_retry);
}

void QueueTimer::slots_freed() {
  for (Signal* signal : listeners_) signal->notify();
}

void QueueTimer::drain() {
  core_.agenda.drain();
  notify_drain();
}

void QueueTimer::notify_drain() {
  for (Signal* signal : listeners_) signal->notify();
  parts_.takes.wake_all();
}

void QueueTimer::give_up() {
  end();
  core_.agenda.give_up();
  scope_.clear();
  parts_.bulk.jobs().stop_all("the daemon, which gave the queue up");
  notify_drain();
  parts_.sheds.write_spells(true);
  scope_.spawn(parts_.sheds.save());
  scope_.spawn(parts_.learnt.keep_learnt_at_stop());
}

}  // namespace freshet
