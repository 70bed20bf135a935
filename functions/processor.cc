#include "functions/processor.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/holder.h"
#include "runtime/api/cancel_mark.h"
#include "runtime/api/task_cost.h"

namespace freshet {

namespace {
constexpr size_t kMaxBatch = 1000;
constexpr milliseconds kSettleRetry{200};  // When the store refused to record an outcome.
constexpr milliseconds kBusyWait{50};      // While there is work under way, how long a take waits.
constexpr milliseconds kPagePause{500};    // Between pages, as the sample.
constexpr milliseconds kElsewherePause{100};
constexpr milliseconds kLeastBeat{3};         // The least time between two heartbeats of a task.
constexpr size_t kMostUnits = 1'000'000'000;  // The most cost in one take.
constexpr double kLoggedASecond = 32;         // Transitions logged at level info; the rest at debug.

// True if the task no longer belongs to this processor: taken by another, deleted, or gone with its table.
bool is_lost(const Error& error) {
  return error.code == ErrorCode::kConflict || error.code == ErrorCode::kNotFound ||
         error.code == ErrorCode::kResourceNotFound;
}

RunResult bounce() {
  RunResult result;
  result.kind = RunResult::Kind::kBounced;
  return result;
}

// Tells the adaptive concurrency, if there is one, of a task in work, whatever ends it.
class InWork {
 public:
  InWork(Downstream& downstream, const Clock& clock)
      : downstream_(downstream), clock_(clock), number_(downstream.concurrency_number) {
    reported_ = downstream.concurrency.has_value();
    if (reported_) downstream.concurrency->started(clock.boot());
  }
  InWork(const InWork&) = delete;
  InWork& operator=(const InWork&) = delete;
  ~InWork() {
    if (auto* it = same()) it->abandoned(clock_.boot());
  }

  void ended(bool refused) {
    auto* it = same();
    if (it == nullptr) return;
    if (refused) {
      it->refused(clock_.boot());
    } else {
      it->ended(clock_.boot());
    }
    reported_ = false;
  }

 private:
  AdaptiveConcurrency* same() {
    const bool is_same = reported_ && downstream_.concurrency && downstream_.concurrency_number == number_;
    return is_same ? &*downstream_.concurrency : nullptr;
  }

  Downstream& downstream_;
  const Clock& clock_;
  const uint64_t number_;
  bool reported_ = false;
};

}  // namespace

Processor::Processor(Context& context, Queue& queue, Runner& runner, const ProcessSettings& settings,
                     const EventLog& log)
    : services_(context.services),
      function_(context.function.name),
      queue_(queue),
      runner_(runner),
      linger_(settings.linger),
      log_(log),
      downstream_(queue.downstream()),
      stop_at_(context.now() + settings.max_active),
      ends_at_(context.invocation.deadline),
      log_tokens_(kLoggedASecond, kLoggedASecond),
      freed_(services_.scheduler),
      finished_(services_.scheduler),
      beat_(services_.scheduler) {
  queue_.processor_began();
  queue_.notify_on_drain(freed_);
  queue_.notify_on_drain(finished_);  // run() looks again whether it can leave.
}

Processor::~Processor() {
  queue_.forget_drain(freed_);
  queue_.forget_drain(finished_);
  scope_.clear();
  downstream_.busy -= busy_;
  std::vector<Settlement> left;
  for (auto& slot : slots_) {
    slot.work.clear();
    if (slot.outcome) {
      left.push_back(std::move(*slot.outcome));
      continue;
    }
    Settlement settlement;
    bool blameless = queue_.draining() || !slot.started;
    settlement.begun = slot.called_at.has_value();
    settlement.kind = blameless ? Settlement::Kind::kRelease : Settlement::Kind::kFail;
    settlement.id = text_of(slot.task, attribute::kId);
    settlement.lease = slot.lease;
    settlement.error = "the processor was ended while this was in work";
    left.push_back(std::move(settlement));
  }
  if (!left.empty()) FRESHET_REACHED("a processor ends with work in hand");
  if (!left.empty()) queue_.settle_later(std::move(left));
  if (left_) {
    downstream_.left -= slots_.size();
    queue_.slots_freed();
  } else {
    queue_.processor_ended();
  }
}

Async<Result<Processor::Counts>> Processor::run() {
  scope_.spawn(pick());
  scope_.spawn(heartbeat());
  while (picking_ || !slots_.empty()) {
    if (can_leave()) {
      leave();
      break;
    }
    // Nobody notifies this daemon when another one has ended a task.
    const bool looks_elsewhere = !picking_ && queue_.left_elsewhere() > 0;
    co_await finished_.wait(looks_elsewhere ? now() + kElsewherePause : BootTime::max());
    co_await settle_ended();
  }
  if (error_) co_return fail(*error_);
  co_return counts_;
}

// True if slots are free that another run could use while this one could only wait. A page ends as a whole.
bool Processor::can_leave() {
  if (picking_ || slots_.empty() || queue_.draining() || how().page_limit > 0) return false;
  return error_ || slots_wanted() > 0;
}

void Processor::leave() {
  FRESHET_REACHED("a run leaves tasks in work");
  left_ = true;
  downstream_.left += slots_.size();
  queue_.processor_ended();
}

Async<void> Processor::finish() {
  while (!slots_.empty() && now() < ends_at_) {
    co_await finished_.wait(ends_at_);
    co_await settle_ended();
  }
}

size_t Processor::slots_wanted() {
  const size_t elsewhere = queue_.left_elsewhere();
  if (how().page_limit > 0) {
    const auto page = static_cast<size_t>(how().page_limit);
    return slots_.empty() && elsewhere < page ? page - elsewhere : 0;
  }
  size_t at_once = static_cast<size_t>(how().concurrency);
  size_t used = slots_.size() + downstream_.left;
  if (downstream_.concurrency) {
    // Tasks that wait to be settled are no work for the downstream. But they count: a store that cannot settle must not
    // fill the memory.
    at_once = downstream_.concurrency->limit();
    used = std::max(downstream_.busy, slots_.size() / 2);
  }
  used += elsewhere;
  if (downstream_.concurrency && slots_.empty()) used = std::min(used, at_once - 1);  // It learns from what it starts.
  return used < at_once ? std::min(at_once - used, kMaxBatch) : 0;
}

Async<void> Processor::pick() {
  auto idle_since = now();
  while (now() < stop_at_ && !queue_.draining() && !error_) {
    auto wanted = slots_wanted();
    // Where RATE_LIMIT counts cost, it bounds what tasks cost and not how many they are.
    const bool by_cost = queue_.settings().limits.counts_cost;
    const size_t units = downstream_.allowed(now(), by_cost ? kMostUnits : wanted);
    auto allowed = by_cost && units > 0 ? wanted : std::min(units, wanted);
    // A page is taken as a whole: its own pause follows.
    if (how().page_limit == 0) allowed = downstream_.breaker.allowed(now(), allowed);
    if (allowed == 0) {
      auto until = stop_at_;
      if (wanted > 0) {
        until = std::min(until, std::max(downstream_.next(now()), downstream_.breaker.next(now())));
      }
      if (queue_.left_elsewhere() > 0) until = std::min(until, now() + kElsewherePause);
      co_await freed_.wait(until);
      continue;
    }
    if (!slots_.empty()) idle_since = now();
    auto idle_until = idle_since + linger_;
    auto left = std::chrono::ceil<milliseconds>(std::min(idle_until, stop_at_) - now());
    auto wait = slots_.empty() ? std::max(left, milliseconds(0)) : kBusyWait;
    auto before = counts_.taken;
    auto taken = co_await take_some(allowed, wait, by_cost ? std::optional<double>(units) : std::nullopt);
    if (!taken) error_ = taken.error();
    if (counts_.taken > before) {
      idle_since = now();
    } else if (slots_.empty() && now() >= idle_until) {
      break;
    }
    if (how().page_limit > 0 && counts_.taken > before) {
      while (!slots_.empty()) co_await freed_.wait(BootTime::max());
      co_await sleep_for(services_.scheduler, kPagePause);
      idle_since = now();
    }
  }
  picking_ = false;
  finished_.notify();
}

Async<Result<void>> Processor::take_some(size_t wanted, milliseconds wait, std::optional<double> budget) {
  TakeInput input;
  input.budget = budget;
  input.max = static_cast<int>(std::min(wanted, kMaxBatch));
  input.owner = kProcessorOwner;
  input.starts_later = true;
  input.wait = wait;
  auto taken = co_await queue_.take(std::move(input));
  if (!taken && queue_.draining()) co_return Result<void>();
  if (!taken) co_return fail(std::move(taken.error()));
  if (taken->empty()) co_return Result<void>();
  counts_.taken += taken->size();
  downstream_.breaker.started(taken->size(), now());
  co_await start(std::move(*taken));
  co_return Result<void>();
}

Async<void> Processor::start(std::vector<TakenTask> taken) {
  // In their slots from now on, so that whatever ends this processor gives them back.
  std::vector<Slot*> fresh;
  auto first_beat = BootTime::max();
  for (auto& task : taken) {
    auto& slot = slots_.emplace_back();
    slot.beat_at = now() + beat_interval(task.task);
    first_beat = std::min(first_beat, slot.beat_at);
    slot.task = std::move(task.task);
    slot.lease = std::move(task.lease);
    slot.waiting_since = task.waiting_since;
    slot.self = std::prev(slots_.end());
    slot.rated.emplace(downstream_, now(), queue_.units_of(slot.task));
    ++busy_;
    ++downstream_.busy;
    fresh.push_back(&slot);
  }
  if (first_beat < next_beat_) beat_.notify();
  auto durable = co_await services_.tables.durable();
  if (!durable) {
    error_ = durable.error();
    co_return;
  }
  for (Slot* slot : fresh) {
    slot->started = true;
    if (slot->cut_off) {
      ended(*slot, bounce());
      continue;
    }
    log_transition(text_of(slot->task, attribute::kId), state::kPending, state::kTaken);
    slot->work.spawn(work_on(*slot));
  }
}

Async<void> Processor::work_on(Slot& slot) {
  auto stale = queue_.stale(slot.task);
  if (!stale.empty()) {
    FRESHET_REACHED("a task is too late before its start");
    slot.stale = true;
    ended(slot, bounce());  // Its next take sheds it.
    co_return;
  }
  queue_.started(slot.waiting_since);
  slot.called_at = now();
  InWork in_work(downstream_, services_.scheduler.clock());
  auto result = co_await runner_.run(slot.task, slot.lease);
  in_work.ended(result.kind == RunResult::Kind::kBounced);
  if (result.kind == RunResult::Kind::kBounced) {
    const bool reached = result.error.empty();
    const bool by_key = reached && answered(slot, CallAnswer::kRefused, result);
    const bool learns = slot.rated->is_learnt() && reached;
    if (learns) slot.rated->refused(now(), result.hints);
    if (!learns && !by_key) downstream_.breaker.refused(result.leave_alone, now());
    report_bounce(slot.task, result);
  } else {
    const bool by_cost = queue_.settings().limits.counts_cost;
    answered(slot, result.answered ? CallAnswer::kTaken : CallAnswer::kUnknown, result);
    if (result.answered) {
      slot.rated->accepted(now(), result.hints, by_cost ? result.cost : std::nullopt);
    } else {
      slot.rated->unanswered();
    }
    downstream_.breaker.accepted(now());
    downstream_.trouble.reset();
  }
  ended(slot, std::move(result));
}

// True if the limit of the task's group or key is learnt from it.
bool Processor::answered(const Slot& slot, CallAnswer answer, const RunResult& result) {
  const auto cost = queue_.settings().limits.counts_cost ? result.cost : std::nullopt;
  return queue_.answered(slot.task, slot.lease, answer, result.hints, cost);
}

// Each task of a small flow is seen with the default level; a large one does not drown the rest.
void Processor::log_transition(std::string_view task, std::string_view from, std::string_view to) {
  auto tokens = log_tokens_.available(now(), 1);
  log_tokens_.use(tokens);
  log_.event(tokens > 0 ? LogLevel::kInfo : LogLevel::kDebug, "TRANSITION_TASK",
             {{"function", function_}, {"taskId", task}, {"fromTaskStatus", from}, {"toTaskStatus", to}});
}

void Processor::log_bad_cost(std::string_view task, std::string_view said) {
  const auto tokens = log_tokens_.available(now(), 1);
  log_tokens_.use(static_cast<double>(tokens));
  const auto message = fmt::format("Freshet-Cost is '{}': it must be {}", said, kCostRange);
  log_.event(tokens > 0 ? LogLevel::kWarn : LogLevel::kDebug, "TASK_COST_IGNORED",
             {{"function", function_}, {"taskId", task}, {"message", message}});
}

// The log hears of an outage once: each task only waits.
void Processor::report_bounce(const ItemRef& task, const RunResult& result) {
  const bool reachable = result.error.empty();
  const bool is_news = queue_.bounced(task, result.refusal, reachable ? result.reason : result.error, reachable);
  if (is_news && !reachable) {
    log_.warn("TASK_RUNNER_UNREACHABLE",
              {{"function", function_}, {"runner", downstream_.runner}, {"message", result.error}});
  }
}

void Processor::ended(Slot& slot, RunResult result) {
  auto& outcome = slot.outcome.emplace();
  outcome.id = text_of(slot.task, attribute::kId);
  outcome.lease = slot.lease;
  outcome.begun = slot.called_at.has_value();
  if (slot.called_at) outcome.worked = now() - *slot.called_at;
  outcome.cost = result.cost;
  if (!result.bad_cost.empty()) log_bad_cost(outcome.id, result.bad_cost);
  switch (result.kind) {
    case RunResult::Kind::kSuccess:
      outcome.result = std::move(result.result);
      break;
    case RunResult::Kind::kFailure:
      outcome.kind = Settlement::Kind::kFail;
      outcome.error = std::move(result.error);
      break;
    case RunResult::Kind::kBounced:
      outcome.kind = Settlement::Kind::kRelease;
      outcome.delay = result.delay;
      break;
  }
  ended_.push_back(&slot);
  --busy_;
  --downstream_.busy;
  if (downstream_.concurrency || downstream_.rate) freed_.notify();
  finished_.notify();
}

Async<void> Processor::settle_ended() {
  auto count = static_cast<std::ptrdiff_t>(std::min(ended_.size(), kMaxBatch));
  if (count == 0) co_return;
  std::vector<Slot*> batch(ended_.begin(), ended_.begin() + count);
  ended_.erase(ended_.begin(), ended_.begin() + count);
  std::vector<Settlement> settlements;
  settlements.reserve(batch.size());
  for (Slot* slot : batch) settlements.push_back(*slot->outcome);
  auto answers = co_await queue_.settle(std::move(settlements));
  bool again = false;
  bool freed = false;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!answers[i] && !is_lost(answers[i].error())) {
      // The store is full, or away for a moment: the work is done, only its record is missing.
      FRESHET_REACHED("an outcome is settled again");
      again = true;
      ended_.push_back(batch[i]);
      log_.warn("TRANSITION_TASK_ERROR",
                {{"function", function_}, {"taskId", batch[i]->outcome->id}, {"message", answers[i].error().message}});
      continue;
    }
    settled(*batch[i], answers[i]);
    slots_.erase(batch[i]->self);
    if (left_) --downstream_.left;
    freed = true;
  }
  if (again) {
    scope_.spawn(settle_again_soon());
  } else if (!ended_.empty()) {
    finished_.notify();
  }
  // slots_freed() wakes this run, too: without a free slot it would try again at once, for ever.
  if (freed) left_ ? queue_.slots_freed() : freed_.notify();
}

Async<void> Processor::settle_again_soon() {
  co_await sleep_for(services_.scheduler, kSettleRetry);
  finished_.notify();
}

void Processor::settled(Slot& slot, const Result<ItemRef>& answer) {
  const auto& outcome = *slot.outcome;
  if (!answer) {
    ++counts_.lost;
    log_.warn("TRANSITION_TASK_FAILED",
              {{"function", function_}, {"taskId", outcome.id}, {"message", answer.error().message}});
    return;
  }
  auto status = text_of(*answer, attribute::kStatus);
  log_transition(outcome.id, state::kTaken, status);
  switch (outcome.kind) {
    case Settlement::Kind::kComplete:
      ++counts_.succeeded;
      break;
    case Settlement::Kind::kFail:
      ++counts_.failed;
      log_.info(
          "TASK_FAILED",
          {{"function", function_}, {"taskId", outcome.id}, {"toTaskStatus", status}, {"message", outcome.error}});
      break;
    default:
      ++(slot.stale ? counts_.shed : counts_.bounced);
  }
}

void Processor::cut_off(Slot& slot) {
  FRESHET_REACHED("a processor's work is cut off");
  slot.cut_off = true;
  if (!slot.started) return;  // start() holds on to it.
  slot.work.clear();
  ended(slot, bounce());
}

// Keeps the leases, and learns which tasks were cancelled or lost. Each task gets heartbeats that suit its own lease,
// however long the leases of later tasks are.
Async<void> Processor::heartbeat() {
  for (;;) {
    next_beat_ = BootTime::max();
    for (const auto& slot : slots_) {
      if (!slot.outcome) next_beat_ = std::min(next_beat_, slot.beat_at);
    }
    co_await beat_.wait(next_beat_);
    auto beats = due_beats();
    if (beats.empty()) continue;
    auto answers = co_await queue_.settle(beats);
    take_in(beats, answers);
  }
}

// A third of its lease. Clients may write any lease.
nanoseconds Processor::beat_interval(const ItemRef& task) const {
  return std::max<nanoseconds>(nanoseconds(queue_.lease_duration(task)) / 3, kLeastBeat);
}

// If one heartbeat is due, also sends those that will be due soon: one write for many.
std::vector<Settlement> Processor::due_beats() {
  std::vector<Settlement> beats;
  if (next_beat_ > now()) return beats;
  for (auto& slot : slots_) {
    const auto interval = beat_interval(slot.task);
    if (slot.outcome || slot.beat_at > now() + interval / 2) continue;
    slot.beat_at = now() + interval;
    Settlement beat;
    beat.kind = Settlement::Kind::kHeartbeat;
    beat.id = text_of(slot.task, attribute::kId);
    beat.lease = slot.lease;
    beats.push_back(std::move(beat));
  }
  return beats;
}

// Handles the answers to the heartbeats.
void Processor::take_in(const std::vector<Settlement>& beats, std::vector<Result<ItemRef>>& answers) {
  absl::flat_hash_map<std::string_view, size_t> by_lease;
  for (size_t i = 0; i < beats.size(); ++i) by_lease.emplace(beats[i].lease, i);
  for (auto& slot : slots_) {
    const auto beat = by_lease.find(slot.lease);
    if (beat == by_lease.end() || slot.outcome || slot.cut_off) continue;
    auto& answer = answers[beat->second];
    const bool lost = !answer && is_lost(answer.error());
    if (lost || (answer && is_cancel_requested(*answer))) {
      log_.info(
          "TASK_ABANDONED",
          {{"function", function_}, {"taskId", beats[beat->second].id}, {"reason", lost ? "lease lost" : "cancelled"}});
      cut_off(slot);
      continue;
    }
    if (answer) slot.task = std::move(*answer);  // A client may have changed its lease.
    // A heartbeat that the store did not take is retried while the lease lasts.
    const auto interval = beat_interval(slot.task);
    slot.beat_at = std::min(slot.beat_at, now() + (answer ? interval : interval / 4));
  }
}

}  // namespace freshet
