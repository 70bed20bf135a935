#include "functions/queue/arrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "tables/value/text.h"

namespace freshet {

namespace {

constexpr size_t kHistoryEntries = 10;
constexpr size_t kMaxErrorBytes = 4096;
constexpr size_t kMaxHistoryErrorBytes = 512;
// Room for what recognisable() adds on a store without immediate answers: a number, three tokens and the names. The
// name of a node has at most 64 bytes.
constexpr size_t kOwnMarkBytes = 400;
constexpr milliseconds kFreshTtl{3'600'000};  // The TTL of a redriven task whose own has passed.

Value number(int64_t n) {
  return Value::number(n);
}

// The task's history with one more entry. The oldest entries give way.
Value longer_history(const ItemRef& task, std::string_view kind, std::string_view error, WallTime now) {
  List history;
  if (auto stored = task.find(attribute::kHistory); stored && stored->type() == Type::kList) {
    auto value = stored->decode();
    history = std::move(*value.get_if<List>());
  }
  auto& entries = history.elements;
  if (entries.size() >= kHistoryEntries) entries.erase(entries.begin(), entries.end() - (kHistoryEntries - 1));
  Map entry;
  entry.set("attempt", number(attempt_of(task)));
  entry.set("taken", number(int_of(task, attribute::kTaken, 0)));
  entry.set("ended", number(epoch_ms(now)));
  entry.set("outcome", Value(kind));
  if (!error.empty()) entry.set("error", Value(cut_text(error, kMaxHistoryErrorBytes)));
  entries.emplace_back(std::move(entry));
  return Value(std::move(history));
}

// The number of bytes by which the item may still grow, as the store counts them; `enough` if the item is small.
size_t room(const ItemRef& task, size_t enough) {
  // Nothing is counted as more than four times what it takes encoded.
  if (task.encoded().size() < limits::kMaxItemBytes / 8 && enough < limits::kMaxItemBytes / 2) return enough;
  const size_t size = billed_size(task.decode());
  return size < limits::kMaxItemBytes ? limits::kMaxItemBytes - size : 0;
}

size_t billed_size_of(const ItemRef& task, std::string_view name) {
  auto value = task.find(name);
  return value ? name.size() + billed_size(value->decode()) : 0;
}

// Writes a failure into `room` bytes: the error from its beginning, and the newest entries of the history.
void record_failure(TaskChange& change, const ItemRef& task, std::string_view kind, std::string_view error,
                    WallTime now, size_t room) {
  error = cut_text(error, std::min(kMaxErrorBytes, room / 2));
  if (!error.empty()) {
    change.set(attribute::kError, Value(error));
    room -= std::min(room, attribute::kError.size() + error.size());
  }
  auto history = longer_history(task, kind, error, now);
  auto& entries = history.get_if<List>()->elements;
  while (!entries.empty() && attribute::kHistory.size() + billed_size(history) > room) {
    if (entries.size() == 1 && entries[0].get_if<Map>() && entries[0].get_if<Map>()->erase("error")) continue;
    entries.erase(entries.begin());
  }
  if (!entries.empty()) {
    change.set(attribute::kHistory, std::move(history));
  } else {
    change.remove(attribute::kHistory);
  }
}

// Empty: the task no longer has one.
void set_queue_ttl(TaskChange& change, std::optional<milliseconds> ttl, WallTime now) {
  if (!ttl) {
    change.remove(attribute::kQueueTtl).remove(attribute::kTtl);
    return;
  }
  const int64_t end = epoch_s(stored_ttl(now, *ttl));
  change.set(attribute::kQueueTtl, number(end)).set(attribute::kTtl, number(end));
}

void remove_lease(TaskChange& change) {
  change.remove(attribute::kLease).remove(attribute::kLeaseBeat).remove(attribute::kLeaseMs);
}

// For a task that a client put, or that had ended.
void own_key(TaskChange& change, const ItemRef& task) {
  auto key = key_of(task);
  if (!key.empty() && text_of(task, attribute::kLiveKey) != key) change.set(attribute::kLiveKey, Value(key));
}

}  // namespace

TaskChange::TaskChange(const std::string& table, const ItemRef& task, std::string_view to, WallTime now)
    : to_(to), now_(now) {
  input_.table = table;
  input_.seen = task;
  input_.cause = Cause::kQueue;
  input_.edits.reserve(10);
}

TaskChange& TaskChange::set(std::string_view name, Value value) {
  put(name).value.emplace(std::move(value));
  return *this;
}

TaskChange& TaskChange::remove(std::string_view name) {
  put(name);
  return *this;
}

// An edit at its place.
EditItemInput::Edit& TaskChange::put(std::string_view name) {
  auto& edits = input_.edits;
  auto at = edits.end();
  while (at != edits.begin() && name < std::prev(at)->name) --at;
  EditItemInput::Edit& edit = at == edits.end() ? edits.emplace_back() : *edits.emplace(at);
  edit.name = name;
  return edit;
}

TaskChange& TaskChange::unless_moved() {
  if (FRESHET_PLANTED("claim-not-fenced")) return *this;
  input_.unchanged = {attribute::kStatus, attribute::kAttempt};
  return *this;
}

TaskChange& TaskChange::while_held() {
  if (FRESHET_PLANTED("settle-not-fenced")) return *this;
  input_.unchanged = {attribute::kStatus, attribute::kLease};
  return *this;
}

TaskChange& TaskChange::unless_beaten() {
  input_.unchanged = {attribute::kStatus, attribute::kLease, attribute::kLeaseBeat};
  return *this;
}

EditItemInput TaskChange::finish(bool item_on_failure) && {
  set(attribute::kStatus, Value(to_)).set(attribute::kUpdated, number(epoch_ms(now_)));
  input_.return_item_on_failure = item_on_failure;
  return std::move(input_);
}

EditItemInput claim(const std::string& table, const ItemRef& task, const Claim& claim, WallTime now) {
  TaskChange change(table, task, state::kTaken, now);
  change.set(attribute::kAttempt, number(attempt_of(task) + (FRESHET_PLANTED("attempt-not-counted") ? 0 : 1)))
      .remove(attribute::kLane)
      .set(attribute::kLease, Value(claim.lease))
      .set(attribute::kLeaseMs, number(claim.duration.count()));
  own_key(change, task);
  if (!claim.taken_by.empty()) {
    change.set(attribute::kTakenBy, Value(claim.taken_by));
  } else if (has(task, attribute::kTakenBy)) {
    change.remove(attribute::kTakenBy);  // It names an earlier holder.
  }
  change.set(attribute::kTaken, number(epoch_ms(now)));
  return std::move(change.unless_moved()).finish();
}

EditItemInput heartbeat(const std::string& table, const ItemRef& task, int64_t beat) {
  EditItemInput input;
  input.table = table;
  input.seen = task;
  input.edits.push_back({attribute::kLeaseBeat, number(beat)});
  input.unchanged = {attribute::kStatus, attribute::kLease};
  input.return_item_on_failure = true;
  input.cause = Cause::kQueue;
  return input;
}

EditItemInput complete(const std::string& table, const ItemRef& task, Value result, WallTime now) {
  TaskChange change(table, task, state::kSuccess, now);
  // A result without room must not cause the work to be done again.
  const size_t size = billed_size(result);
  constexpr size_t kOthers = 64 + kOwnMarkBytes;  // taskUpdated, ttl, queueTtl, and the name of the result.
  const size_t left = room(task, size + kOthers);
  if (size + kOthers > left) {
    auto note = "left out: the result of " + std::to_string(size) + " bytes does not fit beside the task";
    result = note.size() + kOthers > left ? Value() : Value(std::move(note));
  }
  remove_lease(change);
  change.remove(attribute::kLiveKey);
  change.remove(attribute::kReplacedBy);
  if (has(task, attribute::kCancelRequested)) change.remove(attribute::kCancelRequested);
  if (!result.is(Type::kNull)) change.set(attribute::kResult, std::move(result));
  return std::move(change.while_held()).finish(true);
}

EditItemInput end_claim(const std::string& table, const ItemRef& task, const Outcome& outcome, std::string_view kind,
                        std::string_view error, std::string_view lane, WallTime now) {
  TaskChange change(table, task, outcome.to, now);
  if (outcome.to == state::kDelayed) change.set(attribute::kNotBefore, number(epoch_ms(now) + outcome.delay.count()));
  if (outcome.give_back) {
    auto attempt = attempt_of(task);
    change.set(attribute::kAttempt,
               number(std::max<int64_t>(attempt - (FRESHET_PLANTED("release-counts-as-attempt") ? 0 : 1), 0)));
  }
  if (outcome.failed) {
    constexpr size_t kWanted = 16u << 10;  // Error and history never take more.
    // taskUpdated, notBefore or ttl and queueTtl, attempt, lane.
    const size_t others = 64 + kOwnMarkBytes + lane.size();
    const size_t freed = billed_size_of(task, attribute::kHistory) + billed_size_of(task, attribute::kError) +
                         billed_size_of(task, attribute::kLease) + billed_size_of(task, attribute::kLeaseMs);
    const size_t left = room(task, kWanted) + freed;
    record_failure(change, task, kind, error, now, left > others ? left - others : 0);
  }
  if (outcome.to == state::kPending && !lane.empty()) change.set(attribute::kLane, Value(lane));
  remove_lease(change);
  const bool waits = outcome.to == state::kPending || outcome.to == state::kDelayed;
  if (!waits) change.remove(attribute::kLiveKey).remove(attribute::kCancelRequested);
  // A mark that was set after the task was read must stay while the task waits.
  if (outcome.lives_on || (!waits && outcome.to != state::kCancelled)) change.remove(attribute::kReplacedBy);
  change.while_held();
  if (outcome.unless_beaten) change.unless_beaten();
  return std::move(change).finish(true);
}

Value cost_value(double cost) {
  return Value(*Decimal::parse(fmt::format("{}", cost)));
}

EditItemInput with_cost(EditItemInput write, double cost) {
  // Nothing is counted as more than four times what it takes encoded.
  if (write.seen.encoded().size() >= limits::kMaxItemBytes / 8) return write;
  const auto at = std::find_if(write.edits.begin(), write.edits.end(),
                               [](const auto& edit) { return edit.name > attribute::kCost; });
  write.edits.insert(at, {attribute::kCost, cost_value(cost)});
  return write;
}

EditItemInput promote(const std::string& table, const ItemRef& task, std::string_view lane, WallTime now) {
  TaskChange change(table, task, state::kPending, now);
  if (!lane.empty()) change.set(attribute::kLane, Value(lane));
  change.remove(attribute::kNotBefore);
  return std::move(change.unless_moved()).finish();
}

EditItemInput end_waiting(const std::string& table, const ItemRef& task, std::string_view to, std::string_view name,
                          std::string_view detail, WallTime now) {
  TaskChange change(table, task, to, now);
  if (!detail.empty()) change.set(name, Value(detail));
  change.remove(attribute::kLane);
  change.remove(attribute::kNotBefore);
  change.remove(attribute::kLiveKey);
  if (has(task, attribute::kCancelRequested)) change.remove(attribute::kCancelRequested);
  return std::move(change.unless_moved()).finish(true);
}

EditItemInput not_replaced(const std::string& table, const ItemRef& task, WallTime now) {
  TaskChange change(table, task, state::kPending, now);
  change.remove(attribute::kReplacedBy);
  return std::move(change.unless_moved()).finish(true);
}

EditItemInput request_cancel(const std::string& table, const ItemRef& task, WallTime now) {
  TaskChange change(table, task, state::kTaken, now);
  if (!FRESHET_PLANTED("cancel-mark-lost")) change.set(attribute::kCancelRequested, Value::boolean(true));
  return std::move(change.while_held()).finish(true);
}

EditItemInput mark_replaced(const std::string& table, const ItemRef& task, std::string_view by, WallTime now) {
  TaskChange change(table, task, state::kTaken, now);
  change.set(attribute::kReplacedBy, Value(by));
  return std::move(change.while_held()).finish(true);
}

EditItemInput set_aside(const std::string& table, const ItemRef& task) {
  EditItemInput input;
  input.table = table;
  input.seen = task;
  input.edits.push_back({attribute::kStatus, Value(state::kDead)});
  for (const auto name : {attribute::kLane, attribute::kLiveKey, attribute::kNotBefore, attribute::kLease,
                          attribute::kLeaseMs, attribute::kLeaseBeat}) {
    input.edits.push_back({name, std::nullopt});
  }
  input.unchanged = {attribute::kStatus, attribute::kLease};
  input.cause = Cause::kQueue;
  return input;
}

EditItemInput kept(EditItemInput write, const KeepTimes& keep, WallTime keep_from) {
  if (keep.is_empty()) return write;
  const auto status = std::find_if(write.edits.begin(), write.edits.end(),
                                   [](const auto& edit) { return edit.name == attribute::kStatus; });
  const auto* to = status != write.edits.end() && status->value ? status->value->get_if<std::string>() : nullptr;
  const auto time = to ? keep.of(*to) : std::nullopt;
  if (!time || keeps_own_ttl(write.seen)) return write;
  const int64_t ttl = epoch_s(stored_ttl(keep_from, FRESHET_PLANTED("kept-too-short") ? *time / 20 : *time));
  write.edits.push_back({attribute::kQueueTtl, number(ttl)});
  write.edits.push_back({attribute::kTtl, number(ttl)});
  std::sort(write.edits.begin(), write.edits.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return write;
}

EditItemInput redrive(const TableDefinition& table, const ItemRef& task, std::string_view lane,
                      std::optional<milliseconds> default_ttl, WallTime now, WallTime counted_from) {
  TaskChange change(table.name, task, state::kPending, now);
  change.set(attribute::kAttempt, number(0));
  own_key(change, task);
  if (has_queue_ttl(task)) {
    set_queue_ttl(change, default_ttl, counted_from);
  } else if (auto end = ttl_end(task, table.ttl_in_milliseconds); end && end->at <= counted_from) {
    auto fresh = counted_from + default_ttl.value_or(kFreshTtl);
    change.set(attribute::kTtl, number(end->in_milliseconds ? epoch_ms(fresh) : epoch_s(fresh + milliseconds(999))));
  }
  if (!lane.empty()) change.set(attribute::kLane, Value(lane));
  int64_t deadline = int_of(task, attribute::kDeadline, 0);
  if (deadline > 0 && deadline <= epoch_ms(counted_from)) change.remove(attribute::kDeadline);
  change.remove(attribute::kReplacedBy).remove(attribute::kShedReason);
  // The redriven task does not wait for its key, whatever has that key by now, and a repeated create leaves it alone.
  if (key_of(task).empty()) {
    change.remove(attribute::kReplace);
  } else {
    change.set(attribute::kReplace, Value::boolean(false));
  }
  if (has(task, attribute::kCancelRequested)) change.remove(attribute::kCancelRequested);
  return std::move(change.unless_moved()).finish(true);
}

}  // namespace freshet
