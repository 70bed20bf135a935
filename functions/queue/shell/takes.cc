#include "functions/queue/shell/takes.h"

#include <algorithm>
#include <array>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/served_elsewhere.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

namespace {

constexpr std::array kGiveBackAfter = {milliseconds(200), milliseconds(1'000), milliseconds(4'000)};

// True if nobody has begun to work on the task.
Settlement giving_back(std::string id, std::string lease) {
  Settlement out;
  out.kind = Settlement::Kind::kRelease;
  out.id = std::move(id);
  out.lease = std::move(lease);
  out.begun = false;
  return out;
}

constexpr int kMaxPages = 16;  // The most pages that a take reads; a waiting take tries again.

}  // namespace

// A take that waits for work. Work wakes one waiter at a time. A woken waiter that got all it wanted wakes the next
// one. A waiter that is destroyed (its client hung up) before it could look wakes the next one, too.
class Takes::Waiter {
 public:
  explicit Waiter(Takes& takes) : takes_(takes), due_(takes.services_.scheduler) {
    place_ = takes_.waiters_.insert(takes_.waiters_.end(), this);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    if (timer_ && !FRESHET_PLANTED("wait-timer-left")) takes_.services_.scheduler.cancel(timer_);
    if (listed_) takes_.waiters_.erase(place_);
    if (watches()) takes_.rate_watcher_ = nullptr;
    // A waiter that was woken, or that would wake others, wakes another one before it goes.
    if ((called_ || watched_) && !looked_) takes_.wake();
  }

  // Waits until RATE_LIMIT may allow another start, or until `until`. One waiter watches the rate; the others wait for
  // its wake-up.
  Async<void> wait_for_rate(BootTime until) {
    if (takes_.rate_watcher_ == nullptr) {
      takes_.rate_watcher_ = this;
      watched_ = true;
      until = std::min(until, takes_.core_.limits.downstream().next(takes_.boot()));
    }
    co_await wait(until);
  }

  // Waits until there may be work, or until `until`.
  Async<void> wait(BootTime until) {
    if (until != BootTime::max()) {
      timer_ = takes_.services_.scheduler.call_at(until, [due = due_] { due.set(false); });
    }
    co_await due_.future();
    looked_ = true;
  }

  bool watches() const { return takes_.rate_watcher_ == this; }
  void wake() {
    called_ = true;
    listed_ = false;
    takes_.waiters_.erase(place_);
    due_.set(true);
  }

 private:
  Takes& takes_;
  Promise<bool> due_;
  std::list<Waiter*>::iterator place_;
  TimerId timer_ = 0;
  bool listed_ = true;
  bool called_ = false;
  bool looked_ = false;
  bool watched_ = false;
};

// Marks claims as in flight while it lives.
class Takes::Claiming {
 public:
  Claiming(Takes& takes, const std::vector<TakeStep>& steps) : takes_(takes) {
    ids_.reserve(steps.size());
    for (const auto& step : steps) {
      ids_.emplace_back(text_of(step.task, attribute::kId));
      takes_.core_.claims.sent(ids_.back());
      const auto key = step.lease.empty() ? std::string_view() : key_of(step.task);
      takes_.core_.keys.claim_sent(key);
      if (!key.empty()) names_.emplace_back(key);
    }
  }
  Claiming(const Claiming&) = delete;
  Claiming& operator=(const Claiming&) = delete;
  ~Claiming() {
    for (const auto& id : ids_) takes_.core_.claims.answered(id);
    for (const auto& key : names_) {
      takes_.core_.keys.claim_answered(key);
      takes_.parts_.keyed.key_freed(key);
    }
  }

 private:
  Takes& takes_;
  std::vector<std::string> ids_;
  std::vector<std::string> names_;  // The keys of the claims.
};

Async<Result<std::vector<TakenTask>>> Takes::take(TakeInput input) {
  if (input.max < 1 || input.max > TakeChoice::kMostTaken) co_return invalid("max must be from 1 to 1000");
  if (input.lease && (*input.lease < milliseconds(10) || *input.lease > milliseconds(24 * 3600 * 1000))) {
    co_return invalid("lease must be from 10 ms to 24 hours");
  }
  if (input.owner.size() > 256) co_return invalid("owner must be at most 256 bytes");
  auto until = boot() + input.wait;
  for (;;) {
    if (parts_.table.gone()) co_return fail(*parts_.table.gone());
    auto seen = work_seen_;
    TakeInput now = input;
    const size_t allowed = core_.agenda.draining() ? static_cast<size_t>(now.max) : core_.limits.allowed(now, boot());
    if (allowed == 0 && !core_.agenda.draining()) {
      if (boot() >= until) {
        if (!waiters_.empty() && rate_watcher_ == nullptr) wake();  // Another waiter watches the rate from now on.
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
    // The claims were answered after another daemon may have begun to serve the queue: it counts what is in work.
    if (core_.agenda.given_up() && taken && !taken->empty()) {
      std::vector<TakeOutcome::TaskAndLease> late;
      for (auto& task : *taken) {
        late.push_back({std::string(text_of(task.task, attribute::kId)), std::move(task.lease)});
      }
      auto returning = give_back_late(std::move(late));
      co_await returning;
      co_return fail(served_elsewhere(table_));
    }
    if (core_.agenda.draining() && taken && taken->empty()) {
      if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
      co_return fail(ErrorCode::kUnavailable, "queue '" + table_ + "' gives out no tasks: the daemon is stopping");
    }
    if (!taken || !taken->empty() || boot() >= until) {
      // There may be more for another take. If a limit ended this take, that one waits until it may start.
      const bool is_limited = core_.limits.is_rated(input) && (!taken || !taken->empty());
      if (is_limited || (taken && taken->size() == static_cast<size_t>(input.max))) wake();
      co_return taken;
    }
    if (seen != work_seen_) continue;                      // Work came meanwhile.
    if (core_.limits.is_used_up(input, boot())) continue;  // Other takes were faster.
    Waiter waiter(*this);
    co_await waiter.wait(until);
  }
}

// Claims that a slow store has not answered yet. If their taker goes away meanwhile, they are given back.
struct Takes::Handover {
  explicit Handover(Scheduler& scheduler) : done(scheduler) {}
  Promise<bool> done;
  Result<std::vector<TakenTask>> taken;
  bool abandoned = false;
};

Async<Result<std::vector<TakenTask>>> Takes::carry_claims(Async<Result<std::vector<TakenTask>>> claims) {
  auto handover = std::make_shared<Handover>(services_.scheduler);
  struct Guard {
    Takes& takes;
    std::shared_ptr<Handover> handover;
    bool received = false;
    ~Guard() {
      if (received) return;
      handover->abandoned = true;
      if (handover->done.is_set()) takes.give_back(std::move(handover->taken));
    }
  };
  Guard guard{*this, handover};
  base_.lasting.spawn(finish_handover(std::move(claims), handover));
  co_await handover->done.future();
  guard.received = true;
  co_return std::move(handover->taken);
}

Async<void> Takes::finish_handover(Async<Result<std::vector<TakenTask>>> claims, std::shared_ptr<Handover> handover) {
  handover->taken = co_await claims;
  if (handover->abandoned) {
    give_back(std::move(handover->taken));
  } else {
    handover->done.set(true);
  }
}

void Takes::give_back(Result<std::vector<TakenTask>> taken) {
  if (!taken || taken->empty()) return;
  FRESHET_REACHED("claims of a taker that went away are given back");
  std::vector<Settlement> settlements;
  for (auto& task : *taken) {
    settlements.push_back(giving_back(std::string(text_of(task.task, attribute::kId)), std::move(task.lease)));
  }
  parts_.settlements.settle_later(std::move(settlements));
}

Async<Result<std::vector<TakenTask>>> Takes::claim_newest(TakeInput input) {
  std::vector<TakenTask> taken;
  auto max = static_cast<size_t>(input.max);
  taken.reserve(max);
  TaskWalk start;
  wall_guard_.trusted();  // Looks at the clock: is_doubtful() uses the result.
  const bool urgent = settings_.order == Order::kDeadline;
  for (int pages = 0; pages < kMaxPages && !core_.agenda.draining() && !core_.pauses.all(); ++pages) {
    auto wanted = max - taken.size();
    auto finding = parts_.finder.candidates(wanted, urgent, std::move(start));
    auto found = co_await finding;
    if (!found) {
      if (taken.empty()) co_return fail(std::move(found.error()));
      break;
    }
    const size_t before = taken.size();
    auto plan = core_.plan_take(found->tasks, found->newest_first, found->more, wanted, input, now_checked());
    if (!plan.steps.empty()) {
      auto work = sure_.claim(std::move(plan.writes), input.lease.value_or(settings_.lease) / 3);
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
    parts_.finder.report_found(*found, taken.size() < max && !core_.limits.is_used_up(input, boot()));
    if (found->cut) wake_soon();
    start = std::move(found->next);
    bool lives_on = false;
    if (!plan.marked.empty()) lives_on = co_await parts_.keyed.end_marked(std::move(plan.marked));
    if (lives_on) start = TaskWalk();  // The take starts from the beginning: it may be that task's turn.
    if (taken.size() >= max || core_.limits.is_used_up(input, boot()) || (!found->more && !lives_on)) break;
  }
  if (core_.limits.on()) parts_.timer.hurry(core_.limits.by_name().next_due());
  co_return taken;
}

// Claims that were never answered do not count for the taker: if they were made, their tasks go back. If the store
// refuses that, the claim ends with its lease.
Async<void> Takes::give_back_unsure(std::vector<TakeOutcome::TaskAndLease> unsure) {
  for (const milliseconds pause : kGiveBackAfter) {
    co_await sleep_for(services_.scheduler, pause);
    auto returning = give_back_once(std::move(unsure));
    unsure = co_await returning;
    if (unsure.empty()) co_return;
  }
}

// The stop of the daemon waits for the take.
Async<void> Takes::give_back_late(std::vector<TakeOutcome::TaskAndLease> late) {
  FRESHET_REACHED("claims that are answered after a queue was given up are given back");
  auto returning = give_back_once(std::move(late));
  auto left = co_await returning;
  if (!left.empty()) base_.lasting.spawn(give_back_unsure(std::move(left)));
}

// Returns those of which the store does not say that they are given back, or no longer held.
Async<std::vector<TakeOutcome::TaskAndLease>> Takes::give_back_once(std::vector<TakeOutcome::TaskAndLease> claims) {
  std::vector<Settlement> settlements;
  for (const auto& one : claims) settlements.push_back(giving_back(one.id, one.lease));
  const auto answers = co_await parts_.settlements.settle(std::move(settlements));
  std::vector<TakeOutcome::TaskAndLease> left;
  for (size_t i = 0; i < answers.size(); ++i) {
    const bool is_known = answers[i] || answers[i].error().code == ErrorCode::kConflict ||
                          answers[i].error().code == ErrorCode::kNotFound;
    if (!is_known) left.push_back(std::move(claims[i]));
  }
  co_return left;
}

// The writes of a take were answered. The work on the tasks from `begun` on begins now.
void Takes::took(TakeOutcome outcome, const std::vector<TakenTask>& taken, size_t begun) {
  for (auto& [task, why] : outcome.too_large)
    scope_.spawn(parts_.settlements.set_aside(std::move(task), std::move(why)));
  if (!outcome.unsure.empty()) base_.lasting.spawn(give_back_unsure(std::move(outcome.unsure)));
  for (; begun < taken.size(); ++begun) parts_.counts.started(taken[begun].waiting_since);
  for (const auto& task : outcome.ended) parts_.counts.count_end(task);
  std::vector<ShedLine> lines;
  for (const auto& [task, reason] : outcome.shed) lines.push_back(parts_.sheds.shed_line(task, reason, "take", wall()));
  if (!lines.empty()) scope_.spawn(parts_.sheds.log_sheds(std::move(lines)));
  parts_.timer.hurry(core_.claims.leases().next_end());
}

void Takes::wake() {
  ++work_seen_;
  if (!waiters_.empty()) waiters_.front()->wake();
}

// It runs in a turn of its own.
void Takes::wake_soon() {
  services_.scheduler.post([this, alive = std::weak_ptr<bool>(base_.alive)] {
    if (!alive.expired()) wake();
  });
}

void Takes::wake_all() {
  ++work_seen_;
  while (!waiters_.empty()) waiters_.front()->wake();
}

}  // namespace freshet
