#include "functions/queue/arrows.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "functions/queue/attributes.h"
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
  if (lease.empty()) {
    input_.condition += " AND attribute_not_exists(lease)";
  } else {
    input_.condition.append(" AND lease = ").append(placeholder(Value(lease)));
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
  const size_t size = task.encoded().size() + billed_size(result);
  if (size > limits::kMaxItemBytes) {
    result =
        Value("left out: the result of " + std::to_string(billed_size(result)) + " bytes does not fit beside the task");
  }
  if (!result.is(Type::kNull)) change.set_reserved(attribute::kResult, std::move(result));
  remove_lease(change);
  end_live_key(change, task);
  return std::move(change.while_held(lease)).finish(true);
}

UpdateItemInput end_claim(const std::string& table, const ItemRef& task, std::string_view lease, const Outcome& outcome,
                          std::string_view kind, std::string_view error, std::string_view lane, WallTime now) {
  TaskChange change(table, task, outcome.to, now);
  if (outcome.to == state::kDelayed) change.set(attribute::kNotBefore, number(epoch_ms(now) + outcome.delay.count()));
  if (outcome.give_back) {
    auto attempt = attempt_of(task);
    change.set(attribute::kAttempt, number(std::max<int64_t>(attempt - 1, 0)));
  }
  if (outcome.failed) {
    error = cut(error, kMaxErrorBytes);
    change.set(attribute::kHistory, longer_history(task, kind, error, now));
    if (!error.empty()) change.set_reserved(attribute::kError, Value(error));
  }
  if (outcome.to == state::kPending && !lane.empty()) change.set(attribute::kLane, Value(lane));
  remove_lease(change);
  if (outcome.to != state::kPending && outcome.to != state::kDelayed) {
    end_live_key(change, task);
    if (has(task, attribute::kCancelRequested)) change.remove(attribute::kCancelRequested);
  }
  change.while_held(lease);
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
  return std::move(change.while_held(text_of(task, attribute::kLease))).finish(true);
}

UpdateItemInput redrive(const std::string& table, const ItemRef& task, std::string_view from, std::string_view lane,
                        milliseconds fresh_ttl, WallTime now) {
  TaskChange change(table, task, state::kPending, now);
  change.set(attribute::kAttempt, number(0));
  own_key(change, task);
  int64_t ttl = int_of(task, attribute::kTtl, 0);
  if (ttl > 0 && ttl <= epoch_s(now)) {
    change.set_reserved(attribute::kTtl, number(epoch_s(now + fresh_ttl + milliseconds(999))));
  }
  if (!lane.empty()) change.set(attribute::kLane, Value(lane));
  int64_t deadline = int_of(task, attribute::kDeadline, 0);
  if (deadline > 0 && deadline <= epoch_ms(now)) change.remove(attribute::kDeadline);
  if (has(task, attribute::kReplacedBy)) change.remove(attribute::kReplacedBy);
  return std::move(change.unless_moved(task, from)).finish(true);
}

}  // namespace freshet
