#include "functions/queue/arrows.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "tables/value/text.h"

namespace freshet {

namespace {

constexpr size_t kHistoryEntries = 10;
constexpr size_t kMaxErrorBytes = 4096;
constexpr size_t kMaxHistoryErrorBytes = 512;

// At most `bytes` of `text`, whole characters only; what is not UTF-8 ends it.
std::string_view cut(std::string_view text, size_t bytes) {
  size_t end = 0;
  while (end < text.size()) {
    const size_t length = utf8_sequence(text.substr(end));
    if (length == 0 || end + length > bytes) break;
    end += length;
  }
  return text.substr(0, end);
}

Value number(int64_t n) {
  return Value::number(n);
}

// The task's history with one entry more; the oldest go.
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
  if (!error.empty()) entry.set("error", Value(cut(error, kMaxHistoryErrorBytes)));
  entries.emplace_back(std::move(entry));
  return Value(std::move(history));
}

// How many bytes the item may still grow by, as the store counts them; `enough` where it is small anyway.
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

// What failed, into `room` bytes: the error from its beginning, and of the history the newest.
void record_failure(TaskChange& change, const ItemRef& task, std::string_view kind, std::string_view error,
                    WallTime now, size_t room) {
  error = cut(error, std::min(kMaxErrorBytes, room / 2));
  if (!error.empty()) {
    change.set_reserved(attribute::kError, Value(error));
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
  } else if (has(task, attribute::kHistory)) {
    change.remove(attribute::kHistory);
  }
}

void remove_lease(TaskChange& change) {
  change.remove(attribute::kLease).remove(attribute::kLeaseMs).remove(attribute::kLeaseBeat);
}

// A key may have become the task's own since `task` was read.
void end_live_key(TaskChange& change, const ItemRef& task) {
  if (has(task, attribute::kLiveKey) || has(task, attribute::kKey)) change.remove(attribute::kLiveKey);
}

// Of a task that a client put, or that had ended.
void own_key(TaskChange& change, const ItemRef& task) {
  auto key = key_of(task);
  if (!key.empty() && text_of(task, attribute::kLiveKey) != key) change.set(attribute::kLiveKey, Value(key));
}

}  // namespace

TaskChange::TaskChange(const std::string& table, const ItemRef& task, std::string_view to, WallTime now) {
  input_.table = table;
  input_.key.set(attribute::kId, Value(text_of(task, attribute::kId)));
  input_.return_values = ReturnValues::kAllNew;
  input_.cause = Cause::kQueue;
  input_.update.reserve(160);
  input_.placeholders.values.reserve(10);
  set(attribute::kStatus, Value(to));
  set(attribute::kUpdated, number(epoch_ms(now)));
}

std::string_view TaskChange::placeholder(Value value) {
  static constexpr std::array<std::string_view, 16> kNames = {":a", ":b", ":c", ":d", ":e", ":f", ":g", ":h",
                                                              ":i", ":j", ":k", ":l", ":m", ":n", ":o", ":p"};
  FRESHET_CHECK(values_ < kNames.size(), "an arrow writes few attributes");
  auto name = kNames[values_++];
  input_.placeholders.values.append_sorted(std::string(name), std::move(value));
  return name;
}

TaskChange& TaskChange::set(std::string_view name, Value value) {
  input_.update += input_.update.empty() ? "SET " : ", ";
  input_.update.append(name).append(" = ").append(placeholder(std::move(value)));
  return *this;
}

TaskChange& TaskChange::set_reserved(std::string_view name, Value value) {
  std::string hidden = "#" + std::string(name);
  set(hidden, std::move(value));
  input_.placeholders.names.emplace_back(std::move(hidden), name);
  return *this;
}

TaskChange& TaskChange::remove(std::string_view name) {
  removes_.append(removes_.empty() ? " REMOVE " : ", ").append(name);
  return *this;
}

TaskChange& TaskChange::unless_moved(const ItemRef& task, std::string_view from) {
  input_.condition.append("taskStatus = ").append(placeholder(Value(from)));
  if (has(task, attribute::kAttempt)) {
    auto seen = placeholder(task.find(attribute::kAttempt)->decode());
    input_.condition.append(" AND attempt = ").append(seen);
  } else {
    input_.condition += " AND attribute_not_exists(attempt)";
  }
  return *this;
}

TaskChange& TaskChange::while_held(std::string_view lease) {
  input_.condition.append("taskStatus = ").append(placeholder(Value(state::kTaken)));
  input_.condition.append(" AND lease = ").append(placeholder(Value(lease)));
  return *this;
}

TaskChange& TaskChange::while_held(const ItemRef& task) {
  input_.condition.append("taskStatus = ").append(placeholder(Value(state::kTaken)));
  if (auto lease = task.find(attribute::kLease)) {
    input_.condition.append(" AND lease = ").append(placeholder(lease->decode()));
  } else {
    input_.condition += " AND attribute_not_exists(lease)";
  }
  return *this;
}

TaskChange& TaskChange::unless_beaten(const ItemRef& task) {
  if (auto beat = task.find(attribute::kLeaseBeat)) {
    input_.condition.append(" AND leaseBeat = ").append(placeholder(beat->decode()));
  } else {
    input_.condition += " AND attribute_not_exists(leaseBeat)";
  }
  return *this;
}

UpdateItemInput TaskChange::finish(bool item_on_failure) && {
  input_.update += removes_;
  input_.return_item_on_failure = item_on_failure;
  return std::move(input_);
}

UpdateItemInput claim(const std::string& table, const ItemRef& task, const Claim& claim, WallTime now) {
  TaskChange change(table, task, state::kTaken, now);
  change.set(attribute::kTaken, number(epoch_ms(now)))
      .set(attribute::kAttempt, number(attempt_of(task) + 1))
      .set(attribute::kLease, Value(claim.lease))
      .set(attribute::kLeaseMs, number(claim.duration.count()));
  if (!claim.taken_by.empty()) change.set(attribute::kTakenBy, Value(claim.taken_by));
  own_key(change, task);
  if (has(task, attribute::kLane)) change.remove(attribute::kLane);
  return std::move(change.unless_moved(task, state::kPending)).finish();
}

UpdateItemInput heartbeat(const std::string& table, const ItemRef& task, std::string_view lease, int64_t beat) {
  UpdateItemInput input;
  input.table = table;
  input.key.set(attribute::kId, Value(text_of(task, attribute::kId)));
  input.update = "SET leaseBeat = :a";
  input.condition = "taskStatus = :b AND lease = :c";
  input.placeholders.values.append_sorted(":a", number(beat));
  input.placeholders.values.append_sorted(":b", Value(state::kTaken));
  input.placeholders.values.append_sorted(":c", Value(lease));
  input.return_values = ReturnValues::kAllNew;
  input.return_item_on_failure = true;
  input.cause = Cause::kQueue;
  return input;
}

UpdateItemInput complete(const std::string& table, const ItemRef& task, std::string_view lease, Value result,
                         WallTime now) {
  TaskChange change(table, task, state::kSuccess, now);
  // What was done must not be done again because its result has no room.
  const size_t size = billed_size(result);
  constexpr size_t kOthers = 64;  // taskUpdated, and the name of the result.
  const size_t left = room(task, size + kOthers);
  if (size + kOthers > left) {
    auto note = "left out: the result of " + std::to_string(size) + " bytes does not fit beside the task";
    result = note.size() + kOthers > left ? Value() : Value(std::move(note));
  }
  if (!result.is(Type::kNull)) change.set_reserved(attribute::kResult, std::move(result));
  remove_lease(change);
  end_live_key(change, task);
  return std::move(change.while_held(lease)).finish(true);
}

UpdateItemInput end_claim(const std::string& table, const ItemRef& task, const Outcome& outcome, std::string_view kind,
                          std::string_view error, std::string_view lane, WallTime now) {
  TaskChange change(table, task, outcome.to, now);
  if (outcome.to == state::kDelayed) change.set(attribute::kNotBefore, number(epoch_ms(now) + outcome.delay.count()));
  if (outcome.give_back) {
    auto attempt = attempt_of(task);
    change.set(attribute::kAttempt, number(std::max<int64_t>(attempt - 1, 0)));
  }
  if (outcome.failed) {
    constexpr size_t kWanted = 16u << 10;    // More than error and history ever take.
    const size_t others = 64 + lane.size();  // taskUpdated, notBefore, attempt, lane.
    const size_t freed = billed_size_of(task, attribute::kHistory) + billed_size_of(task, attribute::kError) +
                         billed_size_of(task, attribute::kLease) + billed_size_of(task, attribute::kLeaseMs);
    const size_t left = room(task, kWanted) + freed;
    record_failure(change, task, kind, error, now, left > others ? left - others : 0);
  }
  if (outcome.to == state::kPending && !lane.empty()) change.set(attribute::kLane, Value(lane));
  remove_lease(change);
  if (outcome.to != state::kPending && outcome.to != state::kDelayed) {
    end_live_key(change, task);
    if (has(task, attribute::kCancelRequested)) change.remove(attribute::kCancelRequested);
  }
  change.while_held(task);
  if (outcome.unless_beaten) change.unless_beaten(task);
  return std::move(change).finish(true);
}

UpdateItemInput promote(const std::string& table, const ItemRef& task, std::string_view lane, WallTime now) {
  TaskChange change(table, task, state::kPending, now);
  if (!lane.empty()) change.set(attribute::kLane, Value(lane));
  change.remove(attribute::kNotBefore);
  return std::move(change.unless_moved(task, state::kDelayed)).finish();
}

UpdateItemInput end_waiting(const std::string& table, const ItemRef& task, std::string_view from, std::string_view to,
                            std::string_view name, std::string_view detail, WallTime now) {
  TaskChange change(table, task, to, now);
  if (!detail.empty()) change.set_reserved(name, Value(detail));
  if (has(task, attribute::kLane)) change.remove(attribute::kLane);
  if (has(task, attribute::kNotBefore)) change.remove(attribute::kNotBefore);
  end_live_key(change, task);
  return std::move(change.unless_moved(task, from)).finish(true);
}

UpdateItemInput request_cancel(const std::string& table, const ItemRef& task, WallTime now) {
  TaskChange change(table, task, state::kTaken, now);
  change.set(attribute::kCancelRequested, Value::boolean(true));
  return std::move(change.while_held(task)).finish(true);
}

UpdateItemInput set_aside(const std::string& table, const ItemRef& task) {
  UpdateItemInput input;
  input.table = table;
  input.key.set(attribute::kId, Value(text_of(task, attribute::kId)));
  input.update = "SET taskStatus = :a REMOVE lane, liveKey, notBefore, lease, leaseMs, leaseBeat";
  input.condition = "taskStatus = :b AND ";
  input.placeholders.values.append_sorted(":a", Value(state::kDead));
  input.placeholders.values.append_sorted(":b", Value(text_of(task, attribute::kStatus)));
  if (auto lease = task.find(attribute::kLease)) {
    input.condition += "lease = :c";
    input.placeholders.values.append_sorted(":c", lease->decode());
  } else {
    input.condition += "attribute_not_exists(lease)";
  }
  input.cause = Cause::kQueue;
  return input;
}

UpdateItemInput redrive(const TableDefinition& table, const ItemRef& task, std::string_view from, std::string_view lane,
                        milliseconds fresh_ttl, WallTime now) {
  TaskChange change(table.name, task, state::kPending, now);
  change.set(attribute::kAttempt, number(0));
  own_key(change, task);
  if (auto end = ttl_end(task, table.ttl_in_milliseconds); end && end->at <= now) {
    auto fresh = now + fresh_ttl;
    change.set_reserved(attribute::kTtl,
                        number(end->in_milliseconds ? epoch_ms(fresh) : epoch_s(fresh + milliseconds(999))));
  }
  if (!lane.empty()) change.set(attribute::kLane, Value(lane));
  int64_t deadline = int_of(task, attribute::kDeadline, 0);
  if (deadline > 0 && deadline <= epoch_ms(now)) change.remove(attribute::kDeadline);
  for (auto name : {attribute::kReplacedBy, attribute::kShedReason}) {
    if (has(task, name)) change.remove(name);
  }
  return std::move(change.unless_moved(task, from)).finish(true);
}

}  // namespace freshet
