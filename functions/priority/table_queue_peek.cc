// Peeks: what is due comes back first, then the heads of the queue are claimed, one conditional write each.
#include <algorithm>
#include <set>

#include "base/points.h"
#include "functions/cancelled.h"
#include "functions/priority/table_queue.h"
#include "tables/traits.h"

namespace freshet::priority {
namespace {

constexpr uint32_t kDueAtOnce = 25;     // One peek gives back so many due records; the sweep does the rest.
constexpr uint32_t kPageInPlace = 250;  // As the sample pages.
constexpr uint32_t kMostPassed = 10;    // Named in an answer.
constexpr int kPagesInOneTurn = 4;      // Then the loop has its turn.
constexpr int kMostRestarts = 16;       // From the head, because somebody was faster.
constexpr int kMostDuePages = 40;
constexpr int kMostFlightPages = 40;
constexpr int kReadTries = 3;  // To read a record that was just claimed.
constexpr milliseconds kReadAgain{50};

void pass(std::vector<std::string>& passed, std::string why) {
  if (passed.size() < kMostPassed) passed.push_back(std::move(why));
}

// True if the store refused a write because this one item has no room left; other items are not affected.
bool concerns_the_item(const Error& error) {
  return error.code == ErrorCode::kValidation;
}

// kConditionalCheckFailed if the record is not as it was seen; kTransactionConflict if only the lock is not, or if
// another transaction was under way.
Error failure_of_claim(const Error& error) {
  Error cause = cause_of_failure(error);
  const auto* cancelled = dynamic_cast<const TransactionCanceled*>(error.detail.get());
  if (cause.code != ErrorCode::kConditionalCheckFailed || !cancelled || cancelled->reasons.empty()) return cause;
  if (cancelled->reasons.front().code != "ConditionalCheckFailed") cause.code = ErrorCode::kTransactionConflict;
  return cause;
}

std::string not_written(const std::string& id, const Error& error) {
  return "record '" + id + "' cannot be written: " + error.message;
}

}  // namespace

struct TableQueue::Peeking {
  PeekInput input;
  milliseconds visibility{0};
  Item next;           // From where in the index; empty for its head.
  uint32_t limit = 0;  // The next page's limit.
  int restarts = 0;
  bool at_end = false;
  bool stopped = false;  // Strict mode: somebody has one.
  StrictLock::Seen lock;
  std::set<std::string> lost;  // With a lock: records that could not be claimed. An index may show them for a while.
  std::string why_none;
  std::vector<PriorityResult> claimed;
  std::vector<std::string> passed;
  size_t wanted() const { return static_cast<size_t>(input.max) - claimed.size(); }
  bool done() const { return at_end || stopped || wanted() == 0; }
};

class TableQueue::Claiming {
 public:
  Claiming(absl::flat_hash_set<std::string>& all, const std::vector<Plan>& plans) : all_(all) {
    for (const auto& plan : plans) {
      all_.insert(plan.facts.id);
      mine_.push_back(plan.facts.id);
    }
  }
  Claiming(const Claiming&) = delete;
  Claiming& operator=(const Claiming&) = delete;
  ~Claiming() {
    for (const auto& id : mine_) all_.erase(id);
  }

 private:
  absl::flat_hash_set<std::string>& all_;
  std::vector<std::string> mine_;
};

// The next one is woken when this one ends.
class TableQueue::StrictTurn {
 public:
  explicit StrictTurn(TableQueue& queue) : queue_(queue) {}
  StrictTurn(const StrictTurn&) = delete;
  StrictTurn& operator=(const StrictTurn&) = delete;
  ~StrictTurn() {
    if (!held_) return;
    queue_.peeking_strictly_ = false;
    for (const auto& waiter : queue_.strict_waiters_) waiter.set(true);
    queue_.strict_waiters_.clear();
  }
  bool try_begin() {
    if (queue_.peeking_strictly_) return false;
    queue_.peeking_strictly_ = held_ = true;
    return true;
  }

 private:
  TableQueue& queue_;
  bool held_ = false;
};

Async<std::vector<PriorityResult>> TableQueue::peek(PeekInput input) {
  std::vector<PriorityResult> out;
  const milliseconds visibility = input.visibility.value_or(settings_.visibility);
  if (input.max < 1 || input.max > 100) {
    out.push_back(failed(PriorityCode::kIllegalState, {}, "'max' must be from 1 to 100"));
    co_return out;
  }
  if (visibility < milliseconds(1) || visibility > kLongestTimeout) {
    out.push_back(failed(PriorityCode::kIllegalState, {}, "'visibility' must be from 1 ms to 366 days"));
    co_return out;
  }
  StrictTurn turn(*this);
  while (settings_.strict && !turn.try_begin()) {
    Promise<bool> ended(services_.scheduler);
    strict_waiters_.push_back(ended);
    co_await ended.future();
  }
  if (settings_.strict) input.max = 1;
  input.visibility = visibility;
  co_return co_await peek_now(std::move(input));
}

Async<std::vector<PriorityResult>> TableQueue::peek_now(PeekInput input) {
  Peeking peeking;
  peeking.visibility = *input.visibility;
  peeking.input = std::move(input);
  std::vector<PriorityResult> out;
  Result<void> looked;
  for (bool gone = true; gone && out.empty();) {
    looked = co_await look_through(peeking);
    gone = co_await keep_whole(std::move(peeking.claimed), out);
    peeking.claimed.clear();
    peeking.at_end = false;
    peeking.next = {};
  }
  if (!out.empty()) {
    out.front().passed = std::move(peeking.passed);
    co_return out;
  }
  if (!looked) {
    out.push_back(failed({}, looked.error()));
    co_return out;
  }
  std::string why = peeking.why_none.empty() ? "nothing in '" + settings_.name + "' can be peeked" : peeking.why_none;
  out.push_back(failed(PriorityCode::kEmptyQueue, {}, std::move(why)));
  out.front().passed = std::move(peeking.passed);
  co_return out;
}

// Claimed records are the caller's, whatever came after them. True if the items of some are gone.
Async<bool> TableQueue::keep_whole(std::vector<PriorityResult> claimed, std::vector<PriorityResult>& out) {
  bool gone = false;
  for (auto& result : claimed) {
    PriorityResult one = co_await whole(std::move(result));
    if (one.code != PriorityCode::kIdNotFound) {
      out.push_back(std::move(one));
      continue;
    }
    // Nobody will ever work on it.
    gone = true;
    co_await forget_state(one.id);
  }
  co_return gone;
}

Async<Result<void>> TableQueue::look_through(Peeking& peeking) {
  auto due = co_await sweep(kDueAtOnce, &peeking.passed);
  if (!due) co_return fail(due.error());
  if (settings_.strict && !settings_.in_place) {
    auto somebody = co_await any_in_flight();
    if (!somebody) co_return fail(somebody.error());
    if (*somebody) {
      peeking.why_none = "'" + settings_.name + "' is strict, and a record is in flight";
      co_return Result<void>();
    }
  }
  for (int pages = 1; !peeking.done(); ++pages) {
    const bool is_at_head = peeking.next.empty();
    if (lock_ && is_at_head) {
      auto locked = co_await is_locked(peeking);
      if (!locked) co_return fail(locked.error());
      if (*locked) co_return Result<void>();
    }
    const auto least = static_cast<uint32_t>(peeking.wanted() + std::min<size_t>(claiming_.size(), 100));
    const uint32_t limit = settings_.in_place ? kPageInPlace : std::max(least, peeking.limit);
    // Pages grow while they bring nothing.
    peeking.limit = std::min(limit * 2, kPageInPlace);
    Item start = std::move(peeking.next);
    auto page = co_await heads(settings_.numbers.ready, limit, std::move(start));
    if (!page) co_return fail(page.error());
    peeking.at_end = page->last_evaluated_key.empty();
    peeking.next = std::move(page->last_evaluated_key);
    auto taken = co_await take_from(std::move(page->items), peeking);
    if (!taken) co_return fail(taken.error());
    if (pages % kPagesInOneTurn == 0) co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  co_return Result<void>();
}

// True if the record that was claimed last is in flight, here or through another daemon.
Async<Result<bool>> TableQueue::is_locked(Peeking& peeking) {
  auto seen = co_await lock_->read();
  if (!seen) co_return fail(seen.error());
  peeking.lock = std::move(*seen);
  const auto key = key_of(peeking.lock.record, keys_, settings_.key_separator);
  if (peeking.lock.record.empty() || !key) co_return false;
  auto item = co_await read(*key);
  if (!item) co_return fail(item.error());
  if (!*item) co_return false;
  const auto facts = facts_of(*item);
  if (!facts || facts->place != RecordPlace::kInFlight) co_return false;
  peeking.why_none = "'" + settings_.name + "' is strict, and record '" + facts->id + "' is in flight";
  // After its timeout it must be out of flight first: another daemon, whose clock is behind, may extend it.
  auto end = settling(*item);
  if (!end) co_return true;
  auto ended = co_await services_.tables.update_item(std::move(*end));
  if (ended) co_return false;
  if (ended.error().code == ErrorCode::kConditionalCheckFailed) co_return true;
  if (!concerns_the_item(ended.error())) co_return fail(std::move(ended.error()));
  pass(peeking.passed, not_written(facts->id, ended.error()));
  co_return false;
}

// The lock is written in the same transaction. kConditionalCheckFailed if the record is not as it was seen, or was
// changed again since; kTransactionConflict if it is worth another look at the lock. If the record cannot be read
// afterwards, it returns after its timeout.
Async<Result<WriteOutput>> TableQueue::claim_with_lock(WriteInput claim, std::string id, std::string receipt,
                                                       StrictLock::Seen seen) {
  auto update = std::get<UpdateItemInput>(std::move(claim));
  update.return_values = ReturnValues::kNone;
  GetItemInput again;
  again.table = update.table;
  again.key = update.key;
  TransactWriteInput transaction;
  transaction.actions.emplace_back(std::move(update));
  transaction.actions.emplace_back(lock_->claim(seen, id));
  auto written = co_await services_.tables.transact_write(std::move(transaction));
  if (!written) co_return fail(failure_of_claim(written.error()));
  auto item = co_await services_.tables.get_item(again);
  for (int tries = 1; !item && tries < kReadTries; ++tries) {
    co_await sleep_for(services_.scheduler, kReadAgain);
    item = co_await services_.tables.get_item(again);
  }
  if (!item) co_return fail(item.error());
  const auto facts = *item ? facts_of(*item) : Result<RecordFacts>(fail(ErrorCode::kNotFound, "it was deleted"));
  if (!facts || facts->receipt != receipt) {
    co_return fail(ErrorCode::kConditionalCheckFailed, "record '" + id + "' was changed as it was claimed");
  }
  WriteOutput out;
  out.attributes = std::move(*item);
  co_return out;
}

Async<Result<Page>> TableQueue::heads(int64_t number, uint32_t limit, Item start) const {
  QueryInput query;
  query.table = settings_.states_in();
  query.index = settings_.queue_index;
  query.key_condition = "#q = :q";
  query.placeholders.names = {{"#q", settings_.names.queued}};
  query.placeholders.values.set(":q", Value::number(number));
  query.forward = settings_.forward();
  query.limit = limit;
  query.exclusive_start_key = std::move(start);
  return read_index(std::move(query));
}

// After its timeout a record is not in flight: the sweep has returned it, or could not write it.
Async<Result<bool>> TableQueue::any_in_flight() {
  Item start;
  for (int pages = 0; pages < kMostFlightPages; ++pages) {
    QueryInput query;
    query.table = settings_.states_in();
    query.index = settings_.visible_index;
    query.key_condition = "#q = :q AND #at > :now";
    query.placeholders.names = {{"#q", settings_.names.queued}, {"#at", settings_.names.visible_at}};
    query.placeholders.values =
        Map{{":q", Value::number(settings_.numbers.in_flight)}, {":now", Value::number(over_by_ms())}};
    query.limit = kPageInPlace;
    query.exclusive_start_key = std::move(start);
    auto page = co_await read_index(std::move(query));
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      const auto facts = facts_of(item);
      if (facts && facts->place == RecordPlace::kInFlight) co_return true;
    }
    start = std::move(page->last_evaluated_key);
    if (start.empty()) break;
  }
  co_return false;
}

RecordUpdate TableQueue::claim(Plan& plan, milliseconds visibility, const std::string& now) {
  const RecordFacts& facts = plan.facts;
  const int64_t peeked = now_ms();
  plan.claims = true;
  plan.receipt = make_receipt(peeked, services_.random.next());
  plan.visible_ms = peeked + visibility.count();
  RecordUpdate update(facts, settings_);
  update.set_info(info::kSelected, Value::boolean(true));
  update.stamp(now, false);  // The other one stays: it is the record's place, if it comes back.
  update.set_info(info::kPeeked, Value(now));
  update.set_info(info::kPeekedMs, Value::number(peeked));
  if (settings_.states.used) update.set_info(info::kStatus, Value(settings_.states.processing));
  update.set_info(info::kReceipt, Value(plan.receipt));
  update.set_info(info::kPeeks, Value::number(facts.peeks + 1));
  update.set(settings_.names.visible_at, Value::number(plan.visible_ms));
  if (!settings_.in_place) update.set(settings_.names.queued, Value::number(settings_.numbers.in_flight));
  return update;
}

// Where a record goes whose consumer was not heard of in time. Its place in the order is the old one.
RecordUpdate TableQueue::timed_out(const RecordFacts& facts) {
  RecordUpdate update(facts, settings_);
  const Return to = after_timeout(settings_, facts.failures);
  const std::string now = stamp();
  update.set_info(info::kFailures, Value::number(to.failures));
  if (to.to == RecordPlace::kDead) {
    into_dlq(update, now);
    return update;
  }
  update.set(settings_.names.queued, Value::number(settings_.numbers.ready)).remove(settings_.names.visible_at);
  update.set_info(info::kSelected, Value::boolean(false)).stamp(now, false);
  if (settings_.states.used) update.set_info(info::kStatus, Value(settings_.states.ready));
  return update;
}

// A completed record leaves the queue when a peek, a timeout or a sweep meets it: its consumer set the status and did
// not remove the record. Its receipt stays valid, so that the consumer still may remove it.
RecordUpdate TableQueue::finished(const RecordFacts& facts) {
  RecordUpdate update(facts, settings_);
  const std::string now = stamp();
  out_of_queue(update);
  update.stamp(now, true).set_info(info::kRemoved, Value(now));
  return update;
}

// A record that somebody else has in flight and left among those that wait: later peeks need not pass it again.
RecordUpdate TableQueue::aside(const RecordFacts& facts) const {
  RecordUpdate update(facts, settings_);
  update.set(settings_.names.queued, Value::number(settings_.numbers.in_flight));
  update.set(settings_.names.visible_at, Value::number(facts.due_ms(settings_)));
  return update;
}

// The image that was read may be old, and clients that complete a record leave its version as it is.
void require_status(UpdateItemInput& write, const ItemRef& item, const std::string& system_info) {
  const auto info = item.find(system_info);
  if (!info || info->type() != Type::kMap) return;
  const Value decoded = info->decode();
  const Value* status = decoded.get_if<Map>()->find(info::kStatus);
  if (status == nullptr) return;
  write.condition += " AND #seenInfo.#seenStatus = :seenStatus";
  write.placeholders.names.emplace_back("#seenInfo", system_info);
  write.placeholders.names.emplace_back("#seenStatus", info::kStatus);
  write.placeholders.values.set(":seenStatus", *status);
}

// At most one write for one item of the queue's index.
void TableQueue::plan_item(const ItemRef& item, Peeking& peeking, std::vector<Plan>& plans,
                           std::vector<WriteInput>& writes) {
  auto read = facts_of(item);
  if (!read) {
    peeking.stopped = FRESHET_PLANTED("one-record-stops-the-queue");
    return pass(peeking.passed, read.error().message);
  }
  if (claiming_.contains(read->id) || peeking.lost.contains(read->id)) return;
  auto key = key_of(read->id, keys_, settings_.key_separator);
  if (!key) return;
  const bool selected = read->place == RecordPlace::kInFlight;
  const bool over = selected && read->due_ms(settings_) <= over_by_ms();
  if (read->place != RecordPlace::kReady && !selected) return;
  if (selected && !over && settings_.strict) {
    peeking.stopped = true;
    peeking.why_none = "'" + settings_.name + "' is strict, and record '" + read->id + "' is in flight";
    return;
  }
  if (selected && !over && settings_.in_place) return;
  plans.push_back({std::move(*read), false, false, {}, 0});
  Plan& plan = plans.back();
  std::optional<RecordUpdate> update;
  if (selected && !over) {
    plan.aside = true;
    update.emplace(aside(plan.facts));
  } else if (is_final(plan.facts, settings_) && !FRESHET_PLANTED("completed-comes-again")) {
    update.emplace(finished(plan.facts));
  } else if (over && after_timeout(settings_, plan.facts.failures).to == RecordPlace::kDead) {
    update.emplace(timed_out(plan.facts));
  } else {
    update.emplace(claim(plan, peeking.visibility, stamp()));
    if (over) update->set_info(info::kFailures, Value::number(plan.facts.failures + 1));
  }
  UpdateItemInput write = std::move(*update).finish(std::move(*key));
  if (!services_.tables.traits().has(Trait::kImmediate)) require_status(write, item, settings_.names.system_info);
  writes.emplace_back(std::move(write));
}

Async<Result<void>> TableQueue::take_from(std::vector<ItemRef> items, Peeking& peeking) {
  std::vector<Plan> plans;
  std::vector<WriteInput> writes;
  plans.reserve(items.size());  // Updates refer to the facts in there.
  size_t claims = 0;
  for (const auto& item : items) {
    if (claims == peeking.wanted() || peeking.stopped) {
      break;
    }
    const size_t before = plans.size();
    plan_item(item, peeking, plans, writes);
    if (plans.size() > before && plans.back().claims) ++claims;
  }
  if (writes.empty()) co_return Result<void>();
  Claiming claiming(claiming_, plans);
  bool lost = false;
  std::optional<Error> error;
  std::optional<WriteInput> claim;  // The last one, as a strict queue claims one.
  if (lock_ && plans.back().claims) {
    claim = std::move(writes.back());
    writes.pop_back();
  }
  std::vector<Result<WriteOutput>> answers;
  if (!writes.empty()) answers = co_await services_.tables.write_many(std::move(writes));
  if (claim) {
    auto claimed =
        co_await claim_with_lock(std::move(*claim), plans.back().facts.id, plans.back().receipt, peeking.lock);
    if (!claimed && claimed.error().code == ErrorCode::kConditionalCheckFailed) {
      peeking.lost.insert(plans.back().facts.id);
    }
    answers.push_back(std::move(claimed));
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) {
      const Error& why = answers[i].error();
      if (why.code == ErrorCode::kConditionalCheckFailed || why.code == ErrorCode::kTransactionConflict) {
        lost = true;
      } else if (!concerns_the_item(why)) {
        error = why;
      } else if (!plans[i].aside) {
        pass(peeking.passed, not_written(plans[i].facts.id, why));
      }
      continue;
    }
    if (!plans[i].claims) continue;
    PriorityResult result = changed(answers[i]->attributes);
    result.receipt = plans[i].receipt;
    result.visible_ms = plans[i].visible_ms;
    result.peeked_ms = plans[i].visible_ms - peeking.visibility.count();
    peeking.claimed.push_back(std::move(result));
  }
  if (error) co_return fail(std::move(*error));
  // Somebody was faster at one: what stood behind it may not have been looked at.
  if (lost && peeking.wanted() > 0 && ++peeking.restarts < kMostRestarts) {
    peeking.next = {};
    peeking.at_end = false;
  } else if (lost && lock_) {
    peeking.stopped = true;  // Those behind the head must not be claimed before it.
    peeking.why_none = "others are faster at the head of '" + settings_.name + "': try again";
  }
  co_return Result<void>();
}

Async<Result<Page>> TableQueue::due(int64_t number, uint32_t limit, Item start) const {
  QueryInput query;
  query.table = settings_.states_in();
  query.index = settings_.visible_index;
  // Times in seconds, which no queue writes, would sort before all others.
  query.key_condition = "#q = :q AND #at BETWEEN :least AND :now";
  query.placeholders.names = {{"#q", settings_.names.queued}, {"#at", settings_.names.visible_at}};
  query.placeholders.values =
      Map{{":least", Value::number(kLeastMs)},
          {":now", Value::number(FRESHET_PLANTED("timeout-by-a-doubted-clock") ? now_ms() : over_by_ms())},
          {":q", Value::number(number)}};
  query.limit = limit;
  query.exclusive_start_key = std::move(start);
  return read_index(std::move(query));
}

// The update of a record that is due; empty for an item that is no record.
std::optional<UpdateItemInput> TableQueue::settling(const ItemRef& item) {
  const auto facts = facts_of(item);
  if (!facts || (facts->place != RecordPlace::kInFlight && facts->place != RecordPlace::kDelayed)) return {};
  auto key = key_of(facts->id, keys_, settings_.key_separator);
  if (!key || facts->due_ms(settings_) > (FRESHET_PLANTED("timeout-by-a-doubted-clock") ? now_ms() : over_by_ms()))
    return {};
  if (is_final(*facts, settings_) && !FRESHET_PLANTED("completed-comes-again"))
    return finished(*facts).finish(std::move(*key));
  if (facts->place == RecordPlace::kInFlight) return timed_out(*facts).finish(std::move(*key));
  RecordUpdate update(*facts, settings_);
  update.set(settings_.names.queued, Value::number(settings_.numbers.ready)).remove(settings_.names.visible_at);
  return std::move(update).finish(std::move(*key));
}

// The result of settling the due records on one page: how many could be settled.
Async<Result<size_t>> TableQueue::settle_page(Page page, std::vector<std::string>* passed) {
  std::vector<WriteInput> writes;
  std::vector<std::string> ids;
  for (const auto& item : page.items) {
    auto update = settling(item);
    if (!update) continue;
    ids.push_back(id_of(item, keys_, settings_.key_separator));
    writes.emplace_back(std::move(*update));
  }
  if (writes.empty()) co_return size_t{0};
  size_t settled = 0;
  auto answers = co_await services_.tables.write_many(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) {
      ++settled;
    } else if (concerns_the_item(answers[i].error())) {
      pass(*passed, not_written(ids[i], answers[i].error()));
    } else if (answers[i].error().code != ErrorCode::kConditionalCheckFailed) {
      co_return fail(answers[i].error());
    }
  }
  co_return settled;
}

// The due records of one part of the queue: in flight for too long, or delayed until now. Records that cannot be
// settled stay where they are, so the next page starts behind them.
Async<Result<bool>> TableQueue::settle_due(int64_t number, uint32_t limit, std::vector<std::string>* passed) {
  // Nothing is due yet while the clock is before the first valid time, as on a machine that lost its own.
  if (over_by_ms() < kLeastMs) co_return false;
  Item start;
  size_t settled = 0;
  for (int pages = 0; pages < kMostDuePages && settled < limit; ++pages) {
    auto page = co_await due(number, limit, std::move(start));
    if (!page) co_return fail(page.error());
    start = std::move(page->last_evaluated_key);
    auto done = co_await settle_page(std::move(*page), passed);
    if (!done) co_return fail(done.error());
    settled += *done;
    if (start.empty()) co_return false;
  }
  co_return settled > 0;
}

Async<Result<bool>> TableQueue::sweep(uint32_t limit, std::vector<std::string>* passed) {
  auto more = co_await settle_due(settings_.numbers.delayed, limit, passed);
  if (!more) co_return fail(more.error());
  auto more_in_flight = co_await settle_due(settings_.numbers.in_flight, limit, passed);
  if (!more_in_flight) co_return fail(more_in_flight.error());
  co_return *more || *more_in_flight;
}

// Somebody deleted the record's item, in a queue with a table of its own.
Async<void> TableQueue::forget_state(std::string id) {
  auto key = key_of(id, keys_, settings_.key_separator);
  if (!key) co_return;
  DeleteItemInput state;
  state.table = settings_.state_table;
  state.key = *key;
  state.cause = Cause::kQueue;
  ConditionCheckInput gone;
  gone.table = settings_.table;
  gone.key = std::move(*key);
  gone.condition = "attribute_not_exists(#key)";
  gone.placeholders.names = {{"#key", keys_.partition.name}};
  TransactWriteInput transaction;
  transaction.actions.emplace_back(std::move(gone));
  transaction.actions.emplace_back(std::move(state));
  // If that fails, it is in flight and comes by again.
  (void)co_await services_.tables.transact_write(std::move(transaction));
}

}  // namespace freshet::priority
