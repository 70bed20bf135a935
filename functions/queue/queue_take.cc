#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/margin.h"
#include "functions/queue/queue_waiter.h"

namespace freshet {

namespace {
constexpr int kMaxTake = 1000;
constexpr int kMaxPages = 16;  // A take reads no more than that; whoever waits tries again.
constexpr size_t kLonger = 4;  // The page after one of which nothing can be taken is that much longer.

// When a PENDING task that was never taken could first be taken: until then only the end of a delay is written to it.
std::optional<WallTime> waiting_since(const ItemRef& task) {
  if (has(task, attribute::kTaken)) return std::nullopt;
  auto created = int_of(task, attribute::kCreated, 0);
  return WallTime(milliseconds(std::max(created, int_of(task, attribute::kUpdated, created))));
}
}  // namespace

struct Queue::Plan {
  ItemRef task;
  std::string lease;                       // Of a claim; empty: the task is ended.
  std::string_view shed_reason;            // Of a shed.
  std::shared_ptr<KeyCall> key_call = {};  // Of a claim that the limits of its group or key count.
  std::shared_ptr<RatedCall> call = {};    // Of a claim that RATE_LIMIT counts.
};

// Marks claims as in flight, for as long as it lives.
class Queue::Claiming {
 public:
  Claiming(Queue& queue, const std::vector<Plan>& plans) : queue_(queue) {
    ids_.reserve(plans.size());
    for (const auto& plan : plans) {
      ids_.emplace_back(text_of(plan.task, attribute::kId));
      queue_.claims_.sent(ids_.back());
      const auto key = plan.lease.empty() ? std::string_view() : key_of(plan.task);
      queue_.keys_.claim_sent(key);
      if (!key.empty()) keys_.emplace_back(key);
    }
  }
  Claiming(const Claiming&) = delete;
  Claiming& operator=(const Claiming&) = delete;
  ~Claiming() {
    for (const auto& id : ids_) queue_.claims_.answered(id);
    for (const auto& key : keys_) {
      queue_.keys_.claim_answered(key);
      queue_.key_freed(key);
    }
  }

 private:
  Queue& queue_;
  std::vector<std::string> ids_;
  std::vector<std::string> keys_;
};

WallTime Queue::created_bound() const {
  return std::max(wall(), last_created_) + settings_.created_skew;
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
    const size_t allowed = pull_allowed(now);
    if (allowed == 0 && !draining_) {
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
    if (draining_ && taken && taken->empty()) {
      co_return fail(ErrorCode::kUnavailable, "queue '" + table_ + "' gives out no tasks: the daemon is stopping");
    }
    if (!taken || !taken->empty() || boot() >= until) {
      // There may be more, for another one. If a limit ended this take, that one waits until it may start.
      const bool is_limited = is_rated(input) && (!taken || !taken->empty());
      if (is_limited || (taken && taken->size() == static_cast<size_t>(input.max))) wake();
      co_return taken;
    }
    if (seen != work_seen_) continue;  // Something came in between.
    if (is_at_rate(input)) continue;   // Others were faster.
    Waiter waiter(*this);
    co_await waiter.wait(until);
  }
}

bool Queue::is_rated() const {
  return settings_.work.rate_adaptive || settings_.work.rate_limit > 0;
}

// RATE_LIMIT counts what pull workers take; the processor counts its own starts.
bool Queue::is_rated(const TakeInput& input) const {
  return !input.starts_later && is_rated();
}

size_t Queue::pull_allowed(TakeInput& input) {
  const auto wanted = static_cast<size_t>(input.max);
  if (!is_rated(input) || draining_ || FRESHET_PLANTED("rate-limit-ignored")) return wanted;
  if (!settings_.limits.counts_cost) return downstream_.allowed(boot(), wanted);
  // RATE_LIMIT bounds what they cost, and not how many they are.
  constexpr size_t kMostUnits = 1'000'000'000;
  const size_t units = downstream_.allowed(boot(), kMostUnits);
  input.budget = static_cast<double>(units);
  return units > 0 ? wanted : 0;
}

// Whether RATE_LIMIT lets the take have no more now.
bool Queue::is_at_rate(const TakeInput& input) {
  if (input.budget && *input.budget <= 0) return true;
  return is_rated(input) && downstream_.allowed(boot(), 1) == 0;
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
  const bool applies = margin_applies(settings_.deadline_margin, newest_first, last);
  return applies ? service_times_.p90(boot()) : nanoseconds(0);
}

// True if the task looks too late by a wall clock that is not trusted yet: then it is neither started nor shed. All
// that stale() refuses must count here, or a processor would give the task back and take it again at once.
bool Queue::is_doubtful(const ItemRef& task) {
  if (!wall_guard_.doubts() || FRESHET_PLANTED("late-by-a-doubted-clock")) return false;
  const auto margin = deadline_margin(true, true);
  const auto late_by = [&](WallTime now) {
    return !expired(task, now, definition_.ttl_in_milliseconds, margin).empty();
  };
  return late_by(wall()) && !late_by(wall_guard_.earliest());
}

// Whether it is not to be taken now, although it is PENDING.
bool Queue::is_passed_over(const ItemRef& task) {
  return claims_.is_in_flight(task) || is_paused(task) || waits_for_key(task) || is_doubtful(task);
}

// How many tasks the next page may have to pass over, as far as it is known: it is made that much longer.
size_t Queue::passed_by_now() const {
  return claims_.in_flight() + keys_.passed() + pauses_.keys();
}

// The newest eligible tasks from `start` on.
Async<Result<Queue::Candidates>> Queue::plain_candidates(size_t wanted, Walk start) {
  Candidates out;
  out.newest_first = newest_first();
  // One more than wanted tells whether the last one wanted is the last there is.
  const size_t one_more = settings_.deadline_margin == DeadlineMargin::kYield && !out.newest_first ? 1 : 0;
  // While the wall clock is not trusted, many tasks that look expired may stand before others.
  const size_t more = wall_guard_.doubts() ? kMaxTake : passed_by_now();
  const auto limit = std::min<size_t>(std::max(wanted + one_more + more, start.least), kMaxTake);
  auto page = co_await heads(state::kPending, static_cast<uint32_t>(limit), !out.newest_first, std::move(start.key));
  if (!page) co_return fail(page.error());
  out.tasks = std::move(page->items);
  std::erase_if(out.tasks, [this](const ItemRef& task) { return is_passed_over(task); });
  out.next.key = std::move(page->last_evaluated_key);
  out.next.least = out.tasks.empty() ? kLonger * limit : 0;
  out.more = !out.next.key.empty();
  co_return out;
}

// The next by ORDER=deadline, in a queue without lanes.
Async<Result<Queue::Candidates>> Queue::urgent_candidates(size_t wanted, Walk start) {
  const auto limit = std::min<size_t>(std::max(wanted + passed_by_now(), start.least), kMaxTake);
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
  for (int pages = 0; pages < kMaxPages && !draining_ && !pauses_.all(); ++pages) {
    auto wanted = max - taken.size();
    auto candidates = !lanes_.empty() ? lane_candidates(wanted)
                      : urgent        ? urgent_candidates(wanted, std::move(start))
                                      : plain_candidates(wanted, std::move(start));
    auto found = co_await candidates;
    if (!found) {
      if (taken.empty()) co_return fail(std::move(found.error()));
      break;
    }
    std::vector<EditItemInput> writes;
    std::vector<ItemRef> marked;
    const size_t before = taken.size();
    auto plans = plan_claims(*found, wanted, input, writes, marked);
    if (!plans.empty()) {
      auto work = services_.tables.edit_many(std::move(writes));
      std::optional<Claiming> claiming;
      if (!work.is_ready()) claiming.emplace(*this, plans);
      auto answers = co_await work;
      auto ok = finish_claims(plans, answers, input, taken);
      if (!ok && taken.empty()) co_return fail(std::move(ok.error()));
      if (!ok) break;
    }
    for (size_t i = before; input.budget && i < taken.size(); ++i) *input.budget -= units_of(taken[i].task);
    tell_order(*found, taken.size() < max && !is_at_rate(input));
    if (found->cut) wake_soon();
    start = std::move(found->next);
    bool lives_on = false;
    if (!marked.empty()) lives_on = co_await end_marked(std::move(marked));
    if (lives_on) start = Walk();  // Starts from the beginning: it may be that task's turn.
    if (taken.size() >= max || is_at_rate(input) || (!found->more && !lives_on)) break;
  }
  if (limits_.on()) hurry(limits_.next_due());
  co_return taken;
}

// Which end the next take goes from.
bool Queue::newest_first() {
  const bool asks = settings_.order == Order::kAdaptive;
  return order_.newest_first(boot(), asks ? service_times_.p90(boot()) : nanoseconds(0));
}

// Within a lane; empty: within the queue.
bool Queue::newest_first_in(std::string_view lane) {
  return settings_.order == Order::kDeadline ? !by_deadline(lane) : newest_first();
}

// `hungry`: the take would have taken more.
void Queue::tell_order(const Candidates& found, bool hungry) {
  // What waits for the limit of its group or key is there all the same.
  const bool is_empty = hungry && !lanes_.shares().any_held() && (!found.more || found.tasks.empty());
  if (is_empty) return order_.found_empty(boot());
  if (found.newest_first || found.tasks.empty()) return;
  const auto created = found.oldest.value_or(int_of(found.tasks[0], attribute::kCreated, 0));
  order_.took_oldest(milliseconds(std::max<int64_t>(epoch_ms(wall()) - created, 0)), boot());
}

// Claims that are not answered yet count for RATE_LIMIT, and for pauses and limits what holds now: both may have
// changed while the candidates were read.
std::vector<Queue::Plan> Queue::plan_claims(const Candidates& found, size_t wanted, TakeInput& input,
                                            std::vector<EditItemInput>& writes, std::vector<ItemRef>& marked) {
  std::vector<Plan> plans;
  if (pauses_.all()) FRESHET_REACHED("paused while a take read");
  if (pauses_.all()) return plans;
  wanted = std::min(wanted, pull_allowed(input));
  plans.reserve(found.tasks.size());
  writes.reserve(found.tasks.size());
  auto now = wall();
  const auto stale_at = wall_guard_.earliest();
  const auto margin = deadline_margin(found.newest_first, false);
  auto lease = input.lease.value_or(settings_.lease);
  size_t claims = 0;
  double spent = 0;
  std::set<std::string_view> keys;  // Of the claims.
  for (size_t i = 0; i < found.tasks.size() && claims < wanted; ++i) {
    const auto& task = found.tasks[i];
    const bool last = i + 1 == found.tasks.size() && !found.more;
    const auto kept = last ? deadline_margin(found.newest_first, true) : margin;
    const auto key = key_of(task);
    if (is_paused(task)) continue;
    Plan plan{task, {}, expired(task, stale_at, definition_.ttl_in_milliseconds, kept)};
    if (FRESHET_PLANTED("expired-task-started")) plan.shed_reason = {};
    if (!plan.shed_reason.empty()) {
      FRESHET_REACHED("shed at the head of a take");
      auto write = end_waiting(table_, task, state::kShed, attribute::kShedReason, plan.shed_reason, now);
      writes.emplace_back(freshet::kept(std::move(write), settings_.keep, now));
    } else if (!key.empty() && has(task, attribute::kReplacedBy)) {
      FRESHET_REACHED("a marked task met by a take");
      marked.push_back(task);
      continue;
    } else if (attempt_of(task) >= attempts_allowed(task, settings_)) {
      FRESHET_REACHED("a take meets a task without attempts left");
      auto write = end_waiting(table_, task, state::kDead, attribute::kError, {}, now);
      writes.emplace_back(freshet::kept(std::move(write), settings_.keep, now));
    } else if (!key.empty() && !keys.insert(key).second && comes_to_replace(task)) {
      keys_.passed_over(key);
      continue;
    } else if (input.budget && spent >= *input.budget) {
      break;
    } else if (limits_.on() && !admit(task, plan.key_call)) {
      continue;
    } else {
      if (input.budget) spent += units_of(task);
      if (is_rated(input)) plan.call = std::make_shared<RatedCall>(downstream_, boot(), units_of(task));
      plan.lease = claims_.new_token();
      writes.emplace_back(claim(table_, task, Claim{plan.lease, lease, input.owner}, now));
      ++claims;
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

Result<void> Queue::finish_claims(std::vector<Plan>& plans, std::vector<Result<WriteOutput>>& answers,
                                  const TakeInput& input, std::vector<TakenTask>& taken) {
  auto now = boot();
  const auto claimed_for = input.lease.value_or(settings_.lease);
  Result<void> out;
  const size_t before = taken.size();
  uint64_t bytes = 0;
  std::vector<ShedLine> lines;
  for (size_t i = 0; i < plans.size(); ++i) {
    auto& plan = plans[i];
    if (plan.key_call) claimed(plan.task, *plan.key_call, answers[i].has_value());
    if (!answers[i]) {
      FRESHET_REACHED("a claim is refused");
      if (plan.call) plan.call->never_began();
      // A failed condition: somebody else was faster. Nothing to do but look further.
      const ErrorCode code = answers[i].error().code;
      if (code == ErrorCode::kValidation) {
        scope_.spawn(set_aside(plan.task, std::move(answers[i].error().message)));
      } else if (code != ErrorCode::kConditionalCheckFailed) {
        out = fail(std::move(answers[i].error()));
      }
    } else if (!plan.shed_reason.empty()) {
      bytes += plan.task.encoded().size();
      lines.push_back(shed_line(plan.task, plan.shed_reason, "take", wall()));
    } else if (!plan.lease.empty()) {
      bytes += plan.task.encoded().size();
      auto& task = answers[i]->attributes;
      Lease lease{plan.lease, 0, claimed_for, true, task};
      lease.key_call = std::move(plan.key_call);
      if (!lanes_.empty()) lanes_.shares().served(text_of(plan.task, attribute::kLane));
      if (settings_.order == Order::kDeadline) learn_urgency(plan.task);
      lease.call = std::move(plan.call);
      claims_.started(task, std::move(lease), now);
      taken.push_back(TakenTask{std::move(task), std::move(plan.lease), waiting_since(plan.task)});
      if (!input.starts_later) started(taken.back().waiting_since);
    } else {
      count_end(answers[i]->attributes);  // No attempt was left.
    }
  }
  drain_rate_.left(taken.size() + lines.size() - before, now);
  drain_bytes_.left(bytes, now);
  take_rate_.left(taken.size() - before, now);
  if (!lines.empty()) scope_.spawn(log_sheds(std::move(lines)));
  hurry(claims_.leases().next_end());
  return out;
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
