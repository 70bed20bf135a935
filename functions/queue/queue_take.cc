#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/queue_waiter.h"

namespace freshet {

namespace {
constexpr int kMaxTake = 1000;
constexpr int kMaxPages = 16;  // A take reads no more than that; whoever waits tries again.
constexpr size_t kLonger = 4;  // The page after one of which nothing can be taken is that much longer.

}  // namespace

// Marks claims as in flight, for as long as it lives.
class Queue::Claiming {
 public:
  Claiming(Queue& queue, const std::vector<TakeStep>& steps) : queue_(queue) {
    ids_.reserve(steps.size());
    for (const auto& step : steps) {
      ids_.emplace_back(text_of(step.task, attribute::kId));
      queue_.core_.claims.sent(ids_.back());
      const auto key = step.lease.empty() ? std::string_view() : key_of(step.task);
      queue_.core_.keys.claim_sent(key);
      if (!key.empty()) names_.emplace_back(key);
    }
  }
  Claiming(const Claiming&) = delete;
  Claiming& operator=(const Claiming&) = delete;
  ~Claiming() {
    for (const auto& id : ids_) queue_.core_.claims.answered(id);
    for (const auto& key : names_) {
      queue_.core_.keys.claim_answered(key);
      queue_.key_freed(key);
    }
  }

 private:
  Queue& queue_;
  std::vector<std::string> ids_;
  std::vector<std::string> names_;  // The keys of the claims.
};

WallTime Queue::created_bound() const {
  return core_.window.bound(wall());
}

Async<Result<Page>> Queue::heads(std::string_view status, uint32_t limit, bool forward, Item start) {
  QueryInput input;
  input.table = table_;
  input.index = index_;
  input.placeholders.values.append_sorted(":s", Value(status));
  if (status == state::kPending) {
    input.key_condition = "taskStatus = :s AND taskCreated <= :t";
    input.placeholders.values.append_sorted(":t", Value::number(epoch_ms(created_bound())));
  } else {
    input.key_condition = "taskStatus = :s";
  }
  input.forward = forward != FRESHET_PLANTED("oldest-taken");
  input.limit = limit;
  input.exclusive_start_key = std::move(start);
  return read_index(std::move(input));
}

Async<Result<std::vector<TakenTask>>> Queue::take(TakeInput input) {
  if (input.max < 1 || input.max > kMaxTake) co_return invalid("max must be from 1 to 1000");
  if (input.lease && (*input.lease < milliseconds(10) || *input.lease > milliseconds(24 * 3600 * 1000))) {
    co_return invalid("lease must be from 10 ms to 24 hours");
  }
  if (input.owner.size() > 256) co_return invalid("owner must be at most 256 bytes");
  auto until = boot() + input.wait;
  for (;;) {
    if (gone_) co_return fail(*gone_);
    auto seen = work_seen_;
    TakeInput now = input;
    const size_t allowed = core_.agenda.draining() ? static_cast<size_t>(now.max) : core_.limits.allowed(now, boot());
    if (allowed == 0 && !core_.agenda.draining()) {
      if (boot() >= until) {
        if (!waiters_.empty() && rate_watcher_ == nullptr) wake();  // Somebody else looks at the rate from now on.
        co_return std::vector<TakenTask>();
      }
      Waiter waiter(*this);
      co_await waiter.wait_for_rate(until);
      continue;
    }
    now.max = static_cast<int>(allowed);
    auto claims = claim_newest(std::move(now));
    Result<std::vector<TakenTask>> taken;
    if (claims.is_ready()) {
      taken = claims.take();
    } else {
      auto carried = carry_claims(std::move(claims));
      taken = co_await carried;
    }
    if (core_.agenda.draining() && taken && taken->empty()) {
      co_return fail(ErrorCode::kUnavailable, "queue '" + table_ + "' gives out no tasks: the daemon is stopping");
    }
    if (!taken || !taken->empty() || boot() >= until) {
      // There may be more, for another one. If a limit ended this take, that one waits until it may start.
      const bool is_limited = core_.limits.is_rated(input) && (!taken || !taken->empty());
      if (is_limited || (taken && taken->size() == static_cast<size_t>(input.max))) wake();
      co_return taken;
    }
    if (seen != work_seen_) continue;                      // Something came in between.
    if (core_.limits.is_used_up(input, boot())) continue;  // Others were faster.
    Waiter waiter(*this);
    co_await waiter.wait(until);
  }
}

// Claims that a slow store is still answering. If their taker goes away meanwhile, they are given back.
struct Queue::Handover {
  explicit Handover(Scheduler& scheduler) : done(scheduler) {}
  Promise<bool> done;
  Result<std::vector<TakenTask>> taken;
  bool abandoned = false;
};

Async<Result<std::vector<TakenTask>>> Queue::carry_claims(Async<Result<std::vector<TakenTask>>> claims) {
  auto handover = std::make_shared<Handover>(services_.scheduler);
  struct Guard {
    Queue& queue;
    std::shared_ptr<Handover> handover;
    bool received = false;
    ~Guard() {
      if (received) return;
      handover->abandoned = true;
      if (handover->done.is_set()) queue.give_back(std::move(handover->taken));
    }
  };
  Guard guard{*this, handover};
  scope_.spawn(finish_handover(std::move(claims), handover));
  co_await handover->done.future();
  guard.received = true;
  co_return std::move(handover->taken);
}

Async<void> Queue::finish_handover(Async<Result<std::vector<TakenTask>>> claims, std::shared_ptr<Handover> handover) {
  handover->taken = co_await claims;
  if (handover->abandoned) {
    give_back(std::move(handover->taken));
  } else {
    handover->done.set(true);
  }
}

void Queue::give_back(Result<std::vector<TakenTask>> taken) {
  if (!taken || taken->empty()) return;
  FRESHET_REACHED("claims of a taker that went away are given back");
  std::vector<Settlement> settlements;
  for (auto& task : *taken) {
    Settlement settlement;
    settlement.kind = Settlement::Kind::kRelease;
    settlement.id = text_of(task.task, attribute::kId);
    settlement.lease = std::move(task.lease);
    settlement.begun = false;
    settlements.push_back(std::move(settlement));
  }
  settle_later(std::move(settlements));
}

nanoseconds Queue::deadline_margin(bool newest_first, bool last) {
  return core_.window.margin(newest_first, last, boot());
}

// For decisions about tasks that were read: while the wall clock is trusted, nobody asks what it would show else.
Now Queue::now() {
  const auto shown = wall();
  const bool doubted = wall_guard_.doubts();
  return {shown, boot(), doubted ? wall_guard_.earliest() : shown, doubted};
}

// For writes that end tasks for good.
Now Queue::now_checked() {
  return {wall(), boot(), wall_guard_.earliest(), wall_guard_.doubts()};
}

// The newest eligible tasks from `start` on.
Async<Result<Queue::Candidates>> Queue::plain_candidates(size_t wanted, Walk start) {
  Candidates out;
  out.newest_first = newest_first();
  // One more than wanted tells whether the last one wanted is the last there is.
  const size_t one_more = settings_.deadline_margin == DeadlineMargin::kYield && !out.newest_first ? 1 : 0;
  // While the wall clock is not trusted, many tasks that look expired may stand before others.
  const size_t more = wall_guard_.doubts() ? kMaxTake : core_.passed_by_now();
  const auto limit = std::min<size_t>(std::max(wanted + one_more + more, start.least), kMaxTake);
  auto page = co_await heads(state::kPending, static_cast<uint32_t>(limit), !out.newest_first, std::move(start.key));
  if (!page) co_return fail(page.error());
  out.tasks = std::move(page->items);
  const auto at = now();
  std::erase_if(out.tasks, [&](const ItemRef& task) { return core_.is_passed_over(task, at); });
  out.next.key = std::move(page->last_evaluated_key);
  out.next.least = out.tasks.empty() ? kLonger * limit : 0;
  out.more = !out.next.key.empty();
  co_return out;
}

// The next by ORDER=deadline, in a queue without lanes.
Async<Result<Queue::Candidates>> Queue::urgent_candidates(size_t wanted, Walk start) {
  const auto limit = std::min<size_t>(std::max(wanted + core_.passed_by_now(), start.least), kMaxTake);
  auto page = co_await urgent_page(std::string(), static_cast<uint32_t>(limit), std::move(start));
  if (!page) co_return fail(page.error());
  Candidates out;
  out.tasks = std::move(page->tasks);
  out.next = std::move(page->next);
  out.next.least = out.tasks.empty() ? kLonger * limit : 0;
  out.more = page->more;
  co_return out;
}

Async<Result<std::vector<TakenTask>>> Queue::claim_newest(TakeInput input) {
  std::vector<TakenTask> taken;
  auto max = static_cast<size_t>(input.max);
  taken.reserve(max);
  Walk start;
  wall_guard_.trusted();  // Looks at the clock: is_doubtful() uses the result.
  const bool urgent = settings_.order == Order::kDeadline;
  for (int pages = 0; pages < kMaxPages && !core_.agenda.draining() && !core_.pauses.all(); ++pages) {
    auto wanted = max - taken.size();
    auto candidates = !core_.lanes.empty() ? lane_candidates(wanted)
                      : urgent             ? urgent_candidates(wanted, std::move(start))
                                           : plain_candidates(wanted, std::move(start));
    auto found = co_await candidates;
    if (!found) {
      if (taken.empty()) co_return fail(std::move(found.error()));
      break;
    }
    const size_t before = taken.size();
    auto plan = core_.plan_take(found->tasks, found->newest_first, found->more, wanted, input, now_checked());
    if (!plan.steps.empty()) {
      auto work = services_.tables.edit_many(std::move(plan.writes));
      std::optional<Claiming> claiming;
      if (!work.is_ready()) claiming.emplace(*this, plan.steps);
      auto answers = co_await work;
      auto outcome = core_.take_answered(plan, answers, input, now(), taken);
      auto failed = std::exchange(outcome.failed, std::nullopt);
      took(std::move(outcome), taken, input.starts_later ? taken.size() : before);
      if (failed && taken.empty()) co_return fail(std::move(*failed));
      if (failed) break;
    }
    for (size_t i = before; input.budget && i < taken.size(); ++i)
      *input.budget -= core_.limits.units_of(taken[i].task);
    tell_order(*found, taken.size() < max && !core_.limits.is_used_up(input, boot()));
    if (found->cut) wake_soon();
    start = std::move(found->next);
    bool lives_on = false;
    if (!plan.marked.empty()) lives_on = co_await end_marked(std::move(plan.marked));
    if (lives_on) start = Walk();  // Starts from the beginning: it may be that task's turn.
    if (taken.size() >= max || core_.limits.is_used_up(input, boot()) || (!found->more && !lives_on)) break;
  }
  if (core_.limits.on()) hurry(core_.limits.by_name().next_due());
  co_return taken;
}

// Which end the next take goes from.
bool Queue::newest_first() {
  return core_.window.newest_first(boot());
}

// Within a lane; empty: within the queue.
bool Queue::newest_first_in(std::string_view lane) {
  return settings_.order == Order::kDeadline ? !by_deadline(lane) : newest_first();
}

// `hungry`: the take would have taken more.
void Queue::tell_order(const Candidates& found, bool hungry) {
  // What waits for the limit of its group or key is there all the same.
  const bool is_empty = hungry && !core_.lanes.shares().any_held() && (!found.more || found.tasks.empty());
  if (is_empty) return core_.window.found_empty(boot());
  if (found.newest_first || found.tasks.empty()) return;
  const auto created = found.oldest.value_or(int_of(found.tasks[0], attribute::kCreated, 0));
  core_.window.took_oldest(created, wall(), boot());
}

// The writes of a take are answered. The work on the tasks from `begun` on begins now.
void Queue::took(TakeOutcome outcome, const std::vector<TakenTask>& taken, size_t begun) {
  for (auto& [task, why] : outcome.too_large) scope_.spawn(set_aside(std::move(task), std::move(why)));
  for (; begun < taken.size(); ++begun) started(taken[begun].waiting_since);
  for (const auto& task : outcome.ended) count_end(task);
  std::vector<ShedLine> lines;
  for (const auto& [task, reason] : outcome.shed) lines.push_back(shed_line(task, reason, "take", wall()));
  if (!lines.empty()) scope_.spawn(log_sheds(std::move(lines)));
  hurry(core_.claims.leases().next_end());
}

// Wall clocks step: nothing was picked up before it was there.
void Queue::started(std::optional<WallTime> waiting_since) {
  punctuality_.called(boot());
  if (!pickup_ || !waiting_since) return;
  auto waited = std::max(wall() - *waiting_since, milliseconds(0));
  pickup_->observe(static_cast<double>(waited.count()) / 1000);
}

// A task that cannot be claimed (it leaves no room for a lease) would stand at the head for ever, and one whose claim
// cannot end would stay TAKEN.
Async<void> Queue::set_aside(ItemRef task, std::string why) {
  const auto done = co_await edit(freshet::set_aside(table_, task));
  if (done) count_end(done->attributes);
  log_.warn("TASK_SET_ASIDE", {{"taskId", text_of(task, attribute::kId)}, {"why", why}, {"done", done.has_value()}});
}

void Queue::wake() {
  ++work_seen_;
  if (!waiters_.empty()) waiters_.front()->wake();
}

// In a turn of its own.
void Queue::wake_soon() {
  services_.scheduler.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) wake();
  });
}

void Queue::wake_all() {
  ++work_seen_;
  while (!waiters_.empty()) waiters_.front()->wake();
}

}  // namespace freshet
