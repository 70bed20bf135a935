#include "functions/queue/new_item.h"

#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/points.h"
#include "functions/queue/arrows.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/expiry.h"
#include "functions/queue/policy/lanes.h"
#include "runtime/api/task_cost.h"

namespace freshet {

namespace {

// The room for attributes that Freshet adds to a task: lease, error, history.
constexpr size_t kMaxTaskBytes = limits::kMaxItemBytes - (16u << 10);
constexpr milliseconds kLongestDeadline{int64_t{366} * 24 * 3600 * 1000};

Result<void> check_time(const std::optional<milliseconds>& time, const char* name) {
  if (time && (time->count() < 0 || *time > kLongestDeadline)) {
    return invalid(std::string(name) + " must be from 0 to 366 days");
  }
  return {};
}

Result<void> check_deadline(const NewTask& task) {
  if (!task.deadline_in) return {};
  if (task.deadline) {
    return invalid("deadline and deadlineMs both say until when the task is worth starting: leave out deadline");
  }
  if (task.deadline_in->count() < 1 || *task.deadline_in > kLongestDeadline) {
    return invalid("deadlineMs must be from 1 ms to 366 days");
  }
  if (task.delay && *task.delay >= *task.deadline_in) {
    return invalid("the task may start after its delay, " + std::to_string(task.delay->count()) +
                   " ms, and not after deadlineMs, " + std::to_string(task.deadline_in->count()) +
                   " ms: it could never start; both count from now, so deadlineMs must be the longer one");
  }
  return {};
}

}  // namespace

Result<void> check_new_task(const NewTask& task, bool immediate) {
  if (task.id.size() > limits::kMaxPartitionKeyBytes) return invalid("taskId must be at most 2048 bytes");
  if (task.key.size() > kMaxKeyBytes) return invalid("key must be at most 256 bytes");
  if (task.group.size() > kMaxGroupBytes) return invalid("group must be at most 256 bytes");
  if (task.replace && task.key.empty()) return invalid("replace needs a key");
  if (task.priority < -100 || task.priority > 100) return invalid("priority must be from -100 to 100");
  if (task.max_attempts && (*task.max_attempts < 1 || *task.max_attempts > 1'000'000)) {
    return invalid("maxAttempts must be from 1 to 1000000");
  }
  if (task.cost && !is_cost(*task.cost)) return invalid(std::string("cost must be ") + kCostRange);
  if (auto ok = check_time(task.ttl, "ttl"); !ok) return ok;
  if (auto ok = check_time(task.delay, "delay"); !ok) return ok;
  if (auto ok = check_deadline(task); !ok) return ok;
  for (const auto& [name, value] : task.attributes) {
    if (name.empty()) return invalid("an attribute without a name: `attributes` has a member ''");
    if (is_reserved(name) || (!immediate && is_own_mark(name))) {
      return invalid("attribute '" + name + "' is Freshet's own: it cannot be among `attributes`");
    }
  }
  return {};
}

void set_deadline(NewTask& task, const QueueSettings& settings, WallTime from) {
  if (task.deadline) return;
  if (task.deadline_in) {
    task.deadline = from + *std::exchange(task.deadline_in, std::nullopt);
  } else if (settings.default_deadline) {
    task.deadline = from + task.delay.value_or(milliseconds(0)) + *settings.default_deadline;
  }
}

Result<Item> build_new_item(NewTask& task, NewItemTimes times, std::string lane, const QueueSettings& settings,
                            Random& random) {
  Item item = std::move(task.attributes);
  item.reserve(item.size() + 9);
  if (task.id.empty()) task.id = random.uuid();
  const bool delayed = task.delay && task.delay->count() > 0;
  item.set(attribute::kAttempt, Value::number(0));
  if (task.deadline) item.set(attribute::kDeadline, Value::number(epoch_ms(*task.deadline)));
  if (!lane.empty()) item.set(attribute::kLane, Value(std::move(lane)));
  if (!task.group.empty()) item.set(attribute::kGroup, Value(task.group));
  if (!task.key.empty()) {
    item.set(attribute::kKey, Value(task.key));
    item.set(attribute::kLiveKey, Value(task.key));
  }
  if (task.cost) item.set(attribute::kCost, cost_value(*task.cost));
  if (task.max_attempts) item.set(attribute::kMaxAttempts, Value::number(*task.max_attempts));
  if (delayed) item.set(attribute::kNotBefore, Value::number(epoch_ms(times.now + *task.delay)));
  if (!task.payload.is(Type::kNull)) item.set(attribute::kPayload, std::move(task.payload));
  if (task.priority != 0) item.set(attribute::kPriority, Value::number(task.priority));
  item.set(attribute::kCreated, Value::number(epoch_ms(times.created)));
  if (task.replace) item.set(attribute::kReplace, Value::boolean(true));
  item.set(attribute::kId, Value(task.id));
  item.set(attribute::kStatus, Value(delayed ? state::kDelayed : state::kPending));
  if (const auto ttl = task.ttl ? task.ttl : settings.default_ttl) {
    const auto end = Value::number(epoch_s(stored_ttl(times.counted_from, *ttl)));
    // The mark adds 2.5 % to the instructions of a task's life, so only queues that need it have it.
    if (!task.ttl && !settings.keep.is_empty()) item.set(attribute::kQueueTtl, end);
    item.set(attribute::kTtl, end);
  }
  if (const size_t size = billed_size(item); size > kMaxTaskBytes) {
    return invalid("task '" + task.id + "' has " + std::to_string(size) + " bytes; at most " +
                   std::to_string(kMaxTaskBytes) + " leave room for its lease, history and error");
  }
  return item;
}

PutItemInput put_new_item(const std::string& table, Item item) {
  PutItemInput put;
  put.table = table;
  put.item = std::move(item);
  put.only_new = !FRESHET_PLANTED("create-overwrites");
  put.cause = Cause::kQueue;
  return put;
}

void refuse_create(Result<CreatedTask>& result, Error& error) {
  if (error.code == ErrorCode::kConditionalCheckFailed) {
    FRESHET_REACHED("a create that is there already");
    result->created = false;
  } else {
    result = fail(std::move(error));
  }
}

}  // namespace freshet
