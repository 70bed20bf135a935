#include "functions/queue/bulk_jobs.h"

#include <algorithm>
#include <utility>

#include "base/duration_text.h"
#include "base/each_once.h"
#include "base/limits.h"
#include "functions/queue/attributes.h"
#include "functions/queue/copies.h"
#include "functions/queue/hand_over.h"
#include "functions/queue/policy/shed_pace.h"
#include "functions/queue/policy/where.h"
#include "functions/queue_states.h"
#include "tables/value/text.h"

namespace freshet {

namespace {

constexpr uint32_t kLooked = 256;         // The tasks that a step reads.
constexpr size_t kChanged = 64;           // The tasks that a step changes.
constexpr size_t kMostBatch = 64;         // Bytes.
constexpr size_t kMostWhere = 1'000'000;  // Bytes of 'where'. No task has as many.

// The job as a line of the audit log shows it.
std::string shortened(const std::string& text) {
  constexpr size_t kShown = 128;
  return text.size() <= kShown ? text : std::string(cut_text(text, kShown)) + "…";
}

std::string join(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

bool is_batch_name(std::string_view name) {
  return name.size() <= kMostBatch && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

std::optional<Error> wrong(const BulkInput& input) {
  const auto allowed = bulk_states(input.action);
  const std::string action(action_name(input.action));
  std::string what;
  if (input.states.empty()) {
    what = "'states' must say which tasks to " + action + ": " + join(allowed);
    if (input.action == BulkInput::Action::kDuplicate) what += "; or 'taskIds' must name them";
  }
  for (const auto& state : input.states) {
    if (std::find(allowed.begin(), allowed.end(), state) != allowed.end()) continue;
    what = "tasks in state '" + state + "' cannot be changed by a " + action + ": it is for " + join(allowed);
    if (input.action == BulkInput::Action::kPurge && state == state::kTaken) what += "; cancel those that are in work";
  }
  if (input.action != BulkInput::Action::kDuplicate) {
    if (!input.changes.members.empty()) what = "only copies can be changed: 'set' goes with duplicate";
    if (!input.batch.empty()) what = "only copies are made in batches: 'batch' goes with duplicate";
  }
  if (!is_batch_name(input.batch)) what = "'batch' must be at most 64 letters, digits, '-', '_' and '.'";
  for (const auto& id : input.ids) {
    if (id.empty() || id.size() > limits::kMaxPartitionKeyBytes) what = "an id in 'taskIds' must have 1 to 2048 bytes";
  }
  if (input.limit && *input.limit < 1) what = "'limit' must be at least 1";
  if (input.rate < 0) what = "'rate' must be above 0 tasks a second";
  if (input.older_than && input.older_than->count() < 0) what = "'olderThanMs' must be at least 0";
  size_t bytes = 0;
  for (const auto& [name, wanted] : input.where) bytes += name.size() + wanted.size();
  if (bytes > kMostWhere) {
    what = "'where' has " + std::to_string(bytes) + " bytes; it may have at most " + std::to_string(kMostWhere) +
           ": choose the tasks by a shorter attribute";
  }
  if (!what.empty()) return Error{ErrorCode::kValidation, what, nullptr};
  return never_matches(input.where);
}

std::string counts_in_words(const BulkJob& job) {
  std::string out = std::to_string(job.matched) + " matched, " + std::to_string(job.changed) + " changed, " +
                    std::to_string(job.moved) + " had moved, " + std::to_string(job.failed) + " failed";
  if (job.copied > 0) out += ", " + std::to_string(job.copied) + " had a copy already";
  return out;
}

}  // namespace

std::vector<std::string> bulk_states(BulkInput::Action action) {
  std::vector<std::string_view> names;
  switch (action) {
    case BulkInput::Action::kPurge:
      names = {state::kDelayed, state::kPending, state::kSuccess,  state::kFailure,
               state::kDead,    state::kShed,    state::kCancelled};
      break;
    case BulkInput::Action::kCancel:
      names = {state::kDelayed, state::kPending, state::kTaken};
      break;
    case BulkInput::Action::kRedrive:
      names = {state::kDead, state::kFailure, state::kCancelled, state::kShed};
      break;
    case BulkInput::Action::kRun:
      names = {state::kDelayed};
      break;
    case BulkInput::Action::kDuplicate:
      names = {state::kDelayed, state::kPending, state::kTaken, state::kSuccess,
               state::kFailure, state::kDead,    state::kShed,  state::kCancelled};
      break;
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> bulk_default_states(const BulkInput& input) {
  using Action = BulkInput::Action;
  const bool any = input.action == Action::kCancel || input.action == Action::kRun;
  if (any || (!input.ids.empty() && input.action != Action::kPurge)) return bulk_states(input.action);
  if (input.action == Action::kRedrive) return {std::string(state::kDead)};
  return {};
}

std::string bulk_in_words(const BulkInput& input) {
  const std::string named = input.ids.empty() ? "" : std::to_string(input.ids.size()) + " named ";
  std::string out = std::string(action_name(input.action)) + " of " + named + join(input.states) + " tasks";
  for (size_t i = 0; i < input.where.size(); ++i) {
    out += (i == 0 ? " where " : " and ") + shortened(input.where[i].first) + "=" + shortened(input.where[i].second);
  }
  if (input.older_than) out += ", older than " + duration_text(*input.older_than);
  if (input.limit) out += ", at most " + std::to_string(*input.limit);
  if (!input.changes.members.empty()) out += ", with changes of " + join(input.changes.members);
  if (!input.batch.empty()) out += ", batch " + input.batch;
  return out;
}

// Once a job has its line in the audit log, it goes on even if the client hangs up.
Async<Result<BulkJob>> BulkJobs::start(BulkInput input, Actor actor) {
  Promise<Result<BulkJob>> done(services_.scheduler);
  auto work = start_now(std::move(input), std::move(actor));
  scope_.spawn(hand_over(std::move(work), done));
  auto begun = co_await done.future();
  co_return begun;
}

Async<Result<BulkJob>> BulkJobs::start_now(BulkInput input, Actor actor) {
  if (input.states.empty()) input.states = bulk_default_states(input);
  input.ids = each_once(input.ids);
  // The states are in the order in which tasks move on. So a task that moves meanwhile is met later and not missed.
  const auto order = bulk_states(input.action);
  if (auto error = wrong(input)) co_return fail(std::move(*error));
  std::sort(input.states.begin(), input.states.end(), [&order](const std::string& a, const std::string& b) {
    return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
  });
  input.states.erase(std::unique(input.states.begin(), input.states.end()), input.states.end());
  const auto at_work = std::count_if(works_.begin(), works_.end(), [](const Work& work) { return work.job.at_work(); });
  if (at_work >= static_cast<ptrdiff_t>(kMostAtWork)) {
    co_return fail(ErrorCode::kTooManyRequests, "queue '" + queue_ + "' has " + std::to_string(at_work) +
                                                    " jobs at work already: wait for one to end, or stop one");
  }
  const WallTime now = services_.scheduler.clock().wall();
  Work& work = works_.emplace_back();
  work.job.id = last_id_ = std::max<uint64_t>(last_id_ + 1, static_cast<uint64_t>(std::max<int64_t>(epoch_ms(now), 1)));
  work.until = now - input.older_than.value_or(milliseconds(0));
  work.job.began = now;
  work.job.actor = std::move(actor);
  if (!input.dry_run) work.slot = free_slot();
  work.job.in_words = bulk_in_words(input);
  work.job.named = input.ids.size();
  work.job.to_change = input.changes.members;
  work.job.input = input;
  work.job.input.ids.clear();
  work.job.input.changes = {};
  work.input = std::move(input);
  if (work.input.action == BulkInput::Action::kDuplicate && work.input.batch.empty()) {
    work.input.batch = work.job.input.batch = std::to_string(work.job.id);
  }
  auto begun = co_await write_begin(work);
  if (!begun) {
    const uint64_t id = work.job.id;
    works_.remove_if([id](const Work& one) { return one.job.id == id; });
    co_return fail(begun.error());
  }
  scope_.spawn(run(work));
  co_return work.job;
}

std::optional<int64_t> BulkJobs::free_slot() const {
  std::set<int64_t> taken;
  for (const auto& work : works_) {
    if (work.slot) taken.insert(*work.slot);
  }
  int64_t slot = kFirstSlot;
  while (taken.contains(slot)) --slot;
  return slot;
}

// Applies the writes in one transaction with a line in the audit log, if there is an audit log. It must be open.
Async<Result<void>> BulkJobs::write_audited(TransactWriteInput transaction, AuditLine line) {
  AuditWrites writes;
  if (audit_ != nullptr) {
    writes = audit_->writes(line);
    std::move(writes.actions.begin(), writes.actions.end(), std::back_inserter(transaction.actions));
  }
  auto written = co_await services_.tables.transact_write(std::move(transaction));
  if (!written) co_return fail(written.error());
  if (audit_ != nullptr) audit_->written(writes);
  co_return Result<void>();
}

// Stores that the job is running, and its line in the audit log. A dry run has neither.
Async<Result<void>> BulkJobs::write_begin(Work& work) {
  if (!work.slot) co_return Result<void>();
  const BulkJob& job = work.job;
  TransactWriteInput transaction;
  PutItemInput put;
  put.table = kQueueStates;
  put.item = queue_state_key(queue_, *work.slot);
  put.item.set("job", Value::number(static_cast<int64_t>(job.id)));
  put.item.set("action", Value(action_name(job.input.action)));
  put.item.set("what", Value(job.in_words));
  if (job.input.action == BulkInput::Action::kDuplicate) put.item.set("batch", Value(work.input.batch));
  put.item.set("began", Value::number(epoch_ms(job.began)));
  put.item.set("by", Value(job.actor.who));
  put.cause = Cause::kQueue;
  transaction.actions.emplace_back(std::move(put));
  if (audit_ != nullptr) {
    auto opened = co_await audit_->open();
    if (!opened) co_return opened;
  }
  // A named object: GCC 12 destroys such a temporary twice (base/async.h).
  AuditLine line{std::string(action_name(job.input.action)), job.actor, queue_, job.in_words + " began", {}, job.id};
  auto written = co_await write_audited(std::move(transaction), std::move(line));
  if (!written) co_return fail(written.error());
  log_.info("BULK_JOB_BEGIN", {{"queue", queue_}, {"job", job.id}, {"what", job.in_words}});
  co_return Result<void>();
}

std::vector<BulkJob> BulkJobs::list() const {
  std::vector<BulkJob> out;
  for (auto it = works_.rbegin(); it != works_.rend(); ++it) out.push_back(it->job);
  return out;
}

Error BulkJobs::unknown(uint64_t id) const {
  return {ErrorCode::kNotFound,
          "queue '" + queue_ + "' has no job " + std::to_string(id) + "; GET /queues/" + queue_ +
              "/jobs lists those at work and the last that have ended",
          nullptr};
}

Result<BulkJob> BulkJobs::find(uint64_t id) const {
  for (const auto& work : works_) {
    if (work.job.id == id) return work.job;
  }
  return fail(unknown(id));
}

Result<BulkJob> BulkJobs::stop(uint64_t id, const Actor& actor) {
  for (auto& work : works_) {
    if (work.job.id != id) continue;
    if (!work.job.at_work()) {
      return fail(ErrorCode::kConflict,
                  "job " + std::to_string(id) + " has ended: " + std::string(phase_name(work.job.phase)));
    }
    work.stop = true;
    work.stopped_by = actor.who;
    return work.job;
  }
  return fail(unknown(id));
}

void BulkJobs::stop_all(const std::string& by) {
  for (auto& work : works_) {
    if (!work.job.at_work() || work.stop) continue;
    work.stop = true;
    work.stopped_by = by;
  }
}

Async<void> BulkJobs::run(Work& work) {
  BulkJob& job = work.job;
  auto done = co_await go_through(work, false);
  if (done && !job.input.dry_run && !work.stop) {
    job.phase = BulkJob::Phase::kChanging;
    work.changing_since = services_.scheduler.clock().boot();
    done = co_await go_through(work, true);
  }
  if (!done) job.error = done.error().message;
  // A task that was counted and not found again has moved meanwhile. A task that came to a state since then was not
  // counted.
  const uint64_t met = job.changed + job.moved + job.failed;
  if (job.input.limit) job.matched = std::min(job.matched, std::max(*job.input.limit, met));
  job.matched = std::max(job.matched, met);
  const bool whole = done && !work.stop && !job.input.dry_run;
  // A task may have been met twice: first to be copied, then with its copy.
  const uint64_t others = job.changed + job.failed + job.copied;
  if (whole) job.moved = job.matched > others ? job.matched - others : 0;
  job.phase = !done ? BulkJob::Phase::kFailed : work.stop ? BulkJob::Phase::kStopped : BulkJob::Phase::kDone;
  job.ended = services_.scheduler.clock().wall();
  work.input = {};
  co_await end(work);
  work.end_number = ++ends_;
  drop_old();
}

bool BulkJobs::is_over(const Work& work) const {
  return work.stop || (work.job.input.limit && work.job.changed >= *work.job.input.limit);
}

Async<Result<void>> BulkJobs::go_through(Work& work, bool change) {
  if (!work.input.ids.empty()) co_return co_await go_through_ids(work, change);
  for (const auto& state : work.input.states) {
    std::string of_state = state;
    auto gone = co_await go_through_state(work, std::move(of_state), change);
    if (!gone) co_return gone;
  }
  co_return Result<void>();
}

Async<Result<void>> BulkJobs::go_through_state(Work& work, std::string state, bool change) {
  Item start;
  while (!is_over(work)) {
    const BootTime began = services_.scheduler.clock().boot();
    std::string of_state = state;
    auto more = co_await step(work, std::move(of_state), start, change);
    if (!more) co_return fail(more.error());
    co_await rest(work, began);
    if (!*more) break;
  }
  co_return Result<void>();
}

Async<Result<void>> BulkJobs::go_through_ids(Work& work, bool change) {
  const auto& all = work.input.ids;
  for (size_t from = 0; from < all.size() && !is_over(work); from += kChanged) {
    const BootTime began = services_.scheduler.clock().boot();
    const size_t to = std::min(from + kChanged, all.size());
    std::vector<std::string> ids(all.begin() + static_cast<ptrdiff_t>(from), all.begin() + static_cast<ptrdiff_t>(to));
    auto tasks = co_await desk_.read(std::move(ids));
    if (!tasks) co_return fail(tasks.error());
    if (!change) work.job.looked += to - from;
    co_await count_or_change(work, std::move(*tasks), change);
    co_await rest(work, began);
  }
  co_return Result<void>();
}

// Counts, or changes, what matches among the next tasks of the state. False: there are no more.
Async<Result<bool>> BulkJobs::step(Work& work, std::string state, Item& start, bool change) {
  auto page = co_await desk_.page(std::move(state), work.until, std::move(start), change ? kChanged : kLooked);
  if (!page) co_return fail(page.error());
  start = std::move(page->last_evaluated_key);
  if (!change) work.job.looked += page->scanned;
  co_await count_or_change(work, std::move(page->items), change);
  co_return !start.empty();
}

bool BulkJobs::is_meant(const Work& work, const ItemRef& task) {
  const BulkInput& input = work.input;
  const auto state = text_of(task, attribute::kStatus);
  if (std::find(input.states.begin(), input.states.end(), state) == input.states.end()) return false;
  if (int_of(task, attribute::kCreated, 0) > epoch_ms(work.until) || !matches(task, input.where)) return false;
  return input.action != BulkInput::Action::kDuplicate || !is_copy_of_batch(text_of(task, attribute::kId), input.batch);
}

Async<void> BulkJobs::count_or_change(Work& work, std::vector<ItemRef> tasks, bool change) {
  BulkJob& job = work.job;
  std::erase_if(tasks, [&work](const ItemRef& task) { return !is_meant(work, task); });
  if (tasks.empty()) co_return;
  if (change) co_return co_await change_all(work, std::move(tasks));
  job.matched += tasks.size();
  if (!job.example) job.example = tasks.front();
}

// With a rate, a step changes what the rate allows in a tenth of a second.
Async<void> BulkJobs::change_all(Work& work, std::vector<ItemRef> tasks) {
  BulkJob& job = work.job;
  const double rate = job.input.rate;
  const size_t most = rate > 0 ? std::clamp<size_t>(static_cast<size_t>(rate / 10), 1, kChanged) : kChanged;
  for (size_t from = 0; from < tasks.size() && !is_over(work); from += most) {
    const size_t count = std::min(most, tasks.size() - from);
    const auto first = tasks.begin() + static_cast<ptrdiff_t>(from);
    std::vector<ItemRef> some(first, first + static_cast<ptrdiff_t>(count));
    if (from > 0) {
      auto again = co_await read_again(work, std::move(some));
      if (!again) {
        job.failed += count;
        job.error = again.error().message;
      }
      some = again ? std::move(*again) : std::vector<ItemRef>();
    }
    if (job.input.limit) some.resize(std::min<uint64_t>(some.size(), *job.input.limit - job.changed));
    if (!some.empty()) co_await change_some(work, std::move(some));
    co_await keep_rate(work);
  }
}

Async<void> BulkJobs::keep_rate(const Work& work) {
  const BulkJob& job = work.job;
  if (job.input.rate <= 0) co_return;
  const auto due = std::chrono::duration<double>(static_cast<double>(job.changed + job.failed) / job.input.rate);
  const BootTime next = work.changing_since + std::chrono::duration_cast<nanoseconds>(due);
  while (services_.scheduler.clock().boot() < next && !work.stop) {
    const auto left = next - services_.scheduler.clock().boot();
    co_await sleep_for(services_.scheduler, std::min<nanoseconds>(left, milliseconds(200)));
  }
}

// Reads the tasks as they are now. Tasks that no longer match count as moved, and so do tasks that were put anew.
Async<Result<std::vector<ItemRef>>> BulkJobs::read_again(Work& work, std::vector<ItemRef> tasks) {
  std::vector<std::string> ids;
  for (const auto& task : tasks) ids.emplace_back(text_of(task, attribute::kId));
  auto now = co_await desk_.read(std::move(ids));
  if (!now) co_return now;
  std::erase_if(*now, [&work](const ItemRef& task) { return !is_meant(work, task); });
  work.job.moved += tasks.size() - now->size();
  co_return now;
}

Async<void> BulkJobs::change_some(Work& work, std::vector<ItemRef> tasks) {
  BulkJob& job = work.job;
  auto results = co_await desk_.change(work.input, std::move(tasks));
  for (auto& result : results) {
    if (result.what == BulkResult::What::kChanged) ++job.changed;
    if (result.what == BulkResult::What::kMoved) ++job.moved;
    if (result.what == BulkResult::What::kCopied) ++job.copied;
    if (result.what != BulkResult::What::kFailed) continue;
    ++job.failed;
    job.error = std::move(result.error);
  }
}

// Other work goes first: the next step waits until others wait for the disk. If nobody does, it waits for longer than
// the last step took.
Async<void> BulkJobs::rest(const Work& work, BootTime began) {
  const BootTime now = services_.scheduler.clock().boot();
  if (work.job.input.rate > 0 && work.job.phase == BulkJob::Phase::kChanging) {
    co_await sleep_for(services_.scheduler, nanoseconds(0));
    co_return;
  }
  co_await services_.tables.lull(now + ShedPace::kPatience);
  co_await sleep_for(services_.scheduler, ShedPace::rest(now - began));
}

// Stores that the job is no longer running, and the line of its end.
Async<void> BulkJobs::end(Work& work) {
  if (!work.slot) co_return;
  const BulkJob& job = work.job;
  TransactWriteInput transaction;
  DeleteItemInput gone;
  gone.table = kQueueStates;
  gone.key = queue_state_key(queue_, *work.slot);
  gone.cause = Cause::kQueue;
  transaction.actions.emplace_back(std::move(gone));
  std::string detail = job.in_words + (job.phase == BulkJob::Phase::kDone ? " ended: " : " was ");
  if (job.phase == BulkJob::Phase::kStopped) detail += "stopped by " + work.stopped_by + ": ";
  if (job.phase == BulkJob::Phase::kFailed) detail += "given up (" + job.error + "): ";
  detail += counts_in_words(job);
  log_.info("BULK_JOB_END", {{"queue", queue_}, {"job", job.id}, {"what", detail}});
  AuditLine line{std::string(action_name(job.input.action)), job.actor, queue_, std::move(detail), job.changed, job.id};
  auto written = co_await write_audited(std::move(transaction), std::move(line));
  if (written) {
    work.slot.reset();
  } else {
    log_.warn("BULK_JOB_NOT_TOLD", {{"queue", queue_}, {"job", job.id}, {"message", written.error().message}});
  }
}

// Drops the jobs that ended first, however early the others began.
void BulkJobs::drop_old() {
  for (;;) {
    size_t ended = 0;
    auto first = works_.end();
    for (auto it = works_.begin(); it != works_.end(); ++it) {
      if (it->end_number == 0) continue;
      ++ended;
      if (first == works_.end() || it->end_number < first->end_number) first = it;
    }
    if (ended <= kMostKept) return;
    works_.erase(first);
  }
}

Async<void> BulkJobs::find_cut_off() {
  QueryInput query;
  query.table = kQueueStates;
  query.key_condition = "#q = :q AND slot BETWEEN :a AND :b";
  query.placeholders.names.emplace_back("#q", "queue");
  query.placeholders.values.set(":q", Value(queue_));
  query.placeholders.values.set(":a", Value::number(kFirstSlot - static_cast<int64_t>(kMostAtWork + kMostKept)));
  query.placeholders.values.set(":b", Value::number(kFirstSlot));
  query.consistent = true;
  auto page = co_await services_.tables.query(std::move(query));
  if (!page) co_return;
  for (const auto& stored : page->items) {
    const Item item = stored.decode();
    TransactWriteInput transaction;
    DeleteItemInput gone;
    gone.table = kQueueStates;
    gone.key = queue_state_key(queue_, item.int_or("slot", 0));
    gone.cause = Cause::kQueue;
    transaction.actions.emplace_back(std::move(gone));
    Work work;
    work.job.id = static_cast<uint64_t>(std::max<int64_t>(item.int_or("job", 0), 0));
    if (const auto action = action_named(item.string_or("action"))) work.job.input.action = *action;
    work.job.began = WallTime(milliseconds(item.int_or("began", 0)));
    work.job.actor.who = item.string_or("by");
    work.job.phase = BulkJob::Phase::kCutOff;
    const std::string what(item.string_or("what"));
    work.job.error = what + ": the daemon ended meanwhile. What it had changed stays so; start it again for the rest";
    if (work.job.input.action == BulkInput::Action::kDuplicate) {
      const std::string batch(item.string_or("batch"));
      work.job.error = what + ": the daemon ended meanwhile. Its copies stay; start it again with \"batch\": \"" +
                       batch + "\" for those that are missing";
    }
    work.job.ended = services_.scheduler.clock().wall();
    log_.warn("BULK_JOB_CUT_OFF", {{"queue", queue_}, {"job", work.job.id}, {"what", what}});
    if (audit_ != nullptr) {
      auto opened = co_await audit_->open();
      if (!opened) continue;
    }
    AuditLine line{std::string(item.string_or("action")),
                   {"freshet", "start", {}},
                   queue_,
                   what + " was cut off by the end of the daemon",
                   {},
                   work.job.id};
    auto written = co_await write_audited(std::move(transaction), std::move(line));
    if (!written) log_.warn("BULK_JOB_NOT_TOLD", {{"queue", queue_}, {"message", written.error().message}});
    last_id_ = std::max(last_id_, work.job.id);
    work.end_number = ++ends_;
    works_.push_front(std::move(work));
  }
}

}  // namespace freshet
