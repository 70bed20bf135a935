#include "functions/queue/shell/pausing.h"

#include <algorithm>

#include "base/points.h"
#include "functions/queue/hand_over.h"
#include "functions/queue/served_elsewhere.h"
#include "functions/queue/shell/parts.h"
#include "functions/queue_states.h"

namespace freshet {

namespace {

constexpr size_t kMostName = 256;
constexpr size_t kMostReason = 256;
constexpr milliseconds kShortestPause{1'000};
constexpr milliseconds kLongestPause{int64_t{366} * 24 * 3600 * 1000};

// A former owner of the queue may write late, and the next one may use the same slot by then. So each write requires
// that the slot is as its writer knows it; null: free.
template <class Write>
void require(Write& write, const Pause* known, const Pause* own) {
  write.condition = known ? "since = :known" : "attribute_not_exists(since)";
  if (known) write.placeholders.values.set(":known", Value::number(epoch_ms(known->since)));
  if (own == nullptr) return;
  write.condition += " OR since = :own";  // It is sent again if no answer comes.
  write.placeholders.values.set(":own", Value::number(epoch_ms(own->since)));
}

std::optional<Error> wrong_pause(const PauseInput& input) {
  const bool named = input.of != Pause::Of::kQueue;
  const std::string kind(pause_kind_name(input.of));
  std::string what;
  if (named && (input.name.empty() || input.name.size() > kMostName)) {
    what = "the name of a " + kind + " has 1 to 256 bytes";
  } else if (input.reason.size() > kMostReason) {
    what = "a reason has at most 256 bytes";
  } else if (input.lasts && (*input.lasts < kShortestPause || *input.lasts > kLongestPause)) {
    what = "a pause lasts from 1 s to 366 days, or until it is resumed";
  }
  if (what.empty()) return {};
  return Error{ErrorCode::kValidation, what, nullptr};
}

}  // namespace

// Runs before anything is taken, and again when the store has other pauses than were known.
Async<Result<void>> Pausing::load_pauses() {
  QueryInput query;
  query.table = kQueueStates;
  query.key_condition = "#q = :q AND slot BETWEEN :a AND :b";
  query.placeholders.names.emplace_back("#q", "queue");
  query.placeholders.values.set(":q", Value(table_));
  query.placeholders.values.set(":a", Value::number(Pauses::kFirstSlot));
  query.placeholders.values.set(":b", Value::number(Pauses::kLastSlot));
  query.consistent = true;
  for (;;) {
    QueryInput page_query = query;
    auto page = co_await services_.tables.query(std::move(page_query));
    if (!page) co_return fail(page.error());
    for (const auto& item : page->items) {
      auto pause = pause_of(item);
      if (pause) core_.pauses.put(std::move(*pause), item.decode().int_or("slot", 0));
    }
    query.exclusive_start_key = std::move(page->last_evaluated_key);
    if (query.exclusive_start_key.empty()) break;
  }
  for (const auto& pause : core_.pauses.list()) {
    log_.warn(
        "QUEUE_PAUSED",
        {{"queue", table_}, {"of", pause_kind_name(pause.of)}, {"name", pause.name}, {"what", pause_in_words(pause)}});
  }
  co_return Result<void>();
}

// Writes the change of a slot and its line in the audit log, or neither.
Async<Result<void>> Pausing::write_pause(WriteInput write, AuditLine line) {
  TransactWriteInput transaction;
  transaction.actions.push_back(std::move(write));
  AuditWrites writes;
  if (base_.audit != nullptr) {
    auto opened = co_await base_.audit->open();
    if (!opened) co_return opened;
    writes = base_.audit->writes(line);
    std::move(writes.actions.begin(), writes.actions.end(), std::back_inserter(transaction.actions));
  }
  auto written = co_await services_.tables.transact_write(std::move(transaction));
  if (!written) co_return fail(written.error());
  if (base_.audit != nullptr) base_.audit->written(writes);
  co_return Result<void>();
}

// A client that hangs up in between must not make the store differ from the memory that takes use.
Async<Result<Pause>> Pausing::pause(PauseInput input, Actor actor) {
  if (FRESHET_PLANTED("pause-half-done")) co_return co_await pause_now(std::move(input), std::move(actor));
  Promise<Result<Pause>> done(services_.scheduler);
  auto work = pause_now(std::move(input), std::move(actor));
  base_.lasting.spawn(hand_over(std::move(work), done));
  auto paused = co_await done.future();
  co_return paused;
}

Async<Result<void>> Pausing::resume(Pause::Of of, std::string name, Actor actor) {
  Promise<Result<void>> done(services_.scheduler);
  auto work = resume_now(of, std::move(name), std::move(actor));
  base_.lasting.spawn(hand_over(std::move(work), done));
  auto resumed = co_await done.future();
  co_return resumed;
}

Async<Result<Pause>> Pausing::pause_now(PauseInput input, Actor actor) {
  if (auto error = wrong_pause(input)) co_return fail(std::move(*error));
  co_await turns_.wait(std::string());
  const NamedTurns::Turn turn(turns_, std::string());  // While it lives, no other pause of the queue changes.
  if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
  const auto slot = core_.pauses.slot_for(input.of, input.name);
  if (!slot) {
    co_return fail(ErrorCode::kLimitExceeded, "queue '" + table_ + "' has " + std::to_string(Pauses::kMost) +
                                                  " pauses, and no room for another one: resume some, or pause the "
                                                  "whole queue");
  }
  Pause pause{input.of, std::move(input.name), std::move(input.reason), actor.who, wall(), {}};
  if (input.lasts) pause.until = counted_from() + *input.lasts;
  PutItemInput put;
  put.table = kQueueStates;
  put.item = queue_state_key(table_, *slot);
  for (auto& [name, value] : pause_item(pause)) put.item.set(name, std::move(value));
  put.cause = Cause::kQueue;
  require(put, core_.pauses.find(pause.of, pause.name), &pause);
  AuditLine line{"pause", std::move(actor), table_, {}, {}, {}};
  line.detail = pause_subject(pause.of, pause.name, table_) + " " + pause_in_words(pause);
  auto written = co_await write_pause(std::move(put), std::move(line));
  if (!written) {
    const bool is_refused = written.error().code == ErrorCode::kTransactionCanceled;
    if (!is_refused && written.error().code != ErrorCode::kUnknownOutcome) co_return fail(written.error());
    const auto read = co_await load_pauses();
    const Pause* there = core_.pauses.find(pause.of, pause.name);
    const bool is_done = read && there && epoch_ms(there->since) == epoch_ms(pause.since) && there->by == pause.by;
    if (!is_done && !is_refused) co_return fail(written.error());
    if (!is_done)
      co_return fail(ErrorCode::kUnavailable, "the pauses of queue '" + table_ + "' have changed: try again");
  }
  // The next owner may have read the pauses before this write. The client asks again, and asks that one.
  if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
  log_.info(
      "QUEUE_PAUSED",
      {{"queue", table_}, {"of", pause_kind_name(pause.of)}, {"name", pause.name}, {"what", pause_in_words(pause)}});
  core_.pauses.put(pause, *slot);
  history_.add({wall(), true, pause.of, pause.name, boot()});
  if (pause.until) parts_.timer.hurry(boot() + due_in(epoch_ms(*pause.until), wall()));
  co_return pause;
}

Async<Result<void>> Pausing::resume_now(Pause::Of of, std::string name, Actor actor) {
  co_await turns_.wait(std::string());
  const NamedTurns::Turn turn(turns_, std::string());  // While it lives, no other pause of the queue changes.
  if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
  const Pause* pause = core_.pauses.find(of, name);
  if (pause == nullptr) co_return fail(ErrorCode::kConflict, not_paused(of, name));
  AuditLine line{"resume", std::move(actor), table_, {}, {}, {}};
  line.detail = pause_subject(of, name, table_) + ", which was paused " + pause_in_words(*pause);
  DeleteItemInput gone;
  gone.table = kQueueStates;
  gone.key = queue_state_key(table_, core_.pauses.slot_for(of, name).value_or(0));
  gone.cause = Cause::kQueue;
  require(gone, pause, nullptr);
  gone.condition += " OR attribute_not_exists(since)";
  auto written = co_await write_pause(std::move(gone), std::move(line));
  if (!written) co_return fail(written.error());
  if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
  log_.info("QUEUE_RESUMED", {{"queue", table_}, {"of", pause_kind_name(of)}, {"name", name}});
  core_.pauses.erase(of, name);
  history_.add({wall(), false, of, name, boot()});
  resumed(of);
  co_return Result<void>();
}

// Names the existing pauses instead.
std::string Pausing::not_paused(Pause::Of of, std::string_view name) const {
  constexpr size_t kShown = 5;
  std::string out = pause_subject(of, name, table_) + " is not paused";
  const auto others = core_.pauses.list();
  for (size_t i = 0; i < std::min(kShown, others.size()); ++i) {
    out +=
        (i == 0 ? "; paused are: " : ", ") +
        (others[i].of == Pause::Of::kQueue ? std::string("the queue")
                                           : std::string(pause_kind_name(others[i].of)) + " '" + others[i].name + "'");
  }
  if (others.size() > kShown) out += " and " + std::to_string(others.size() - kShown) + " more";
  return out;
}

// Something can be taken again.
void Pausing::resumed(Pause::Of of) {
  if (of == Pause::Of::kQueue) core_.limits.downstream().rested(boot());
  parts_.takes.wake_all();
  if (!core_.agenda.has_processor()) parts_.timer.start_soon(nanoseconds(0));
}

// Pauses whose time is over. They end although the store may not be able to remove them now: at the next start they
// have ended, too. A wall clock that may be wrong ends none.
void Pausing::end_pauses() {
  const auto next = core_.pauses.next_end();
  if (!next || *next > wall()) return;
  next_try_ = boot() + settings_.look_around;
  for (auto& pause : core_.pauses.ended(wall_guard_.earliest())) {
    DeleteItemInput gone;
    gone.table = kQueueStates;
    gone.key = queue_state_key(table_, core_.pauses.slot_for(pause.of, pause.name).value_or(0));
    // Another pause may have got that slot since.
    gone.condition = "since = :s";
    gone.placeholders.values.set(":s", Value::number(epoch_ms(pause.since)));
    gone.cause = Cause::kQueue;
    log_.info(
        "QUEUE_RESUMED",
        {{"queue", table_}, {"of", pause_kind_name(pause.of)}, {"name", pause.name}, {"what", "its time was over"}});
    core_.pauses.erase(pause.of, pause.name);
    history_.add({wall(), false, pause.of, pause.name, boot()});
    resumed(pause.of);
    scope_.spawn(remove_pause(std::move(gone), std::move(pause)));
  }
}

Async<void> Pausing::remove_pause(DeleteItemInput gone, Pause pause) {
  AuditLine line{"resume", {"freshet", "timer", {}}, table_, {}, {}, {}};
  line.detail = pause_subject(pause.of, pause.name, table_) + ", whose pause was over";
  auto written = co_await write_pause(std::move(gone), std::move(line));
  const bool replaced = !written && written.error().code == ErrorCode::kTransactionCanceled;
  if (!written && !replaced) {
    log_.warn("PAUSE_NOT_REMOVED", {{"queue", table_}, {"message", written.error().message}});
  }
}

}  // namespace freshet
