// Putting tasks into the queue: ids, keys, lanes.
#include <algorithm>

#include "base/limits.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr std::string_view kKeyIndex = "freshet-key-index";
constexpr size_t kMaxNameBytes = 256;  // Of a key or group.
// Room for what Freshet adds to a task: lease, error, history.
constexpr size_t kMaxTaskBytes = limits::kMaxItemBytes - (16u << 10);
constexpr milliseconds kLongest{int64_t{366} * 24 * 3600 * 1000};

Result<void> check_time(const std::optional<milliseconds>& time, const char* name) {
  if (time && (time->count() < 0 || *time > kLongest)) {
    return invalid(std::string(name) + " must be from 0 to 366 days");
  }
  return {};
}

Result<void> check(const NewTask& task) {
  if (task.id.size() > limits::kMaxPartitionKeyBytes) return invalid("taskId must be at most 2048 bytes");
  if (task.key.size() > kMaxNameBytes) return invalid("key must be at most 256 bytes");
  if (task.group.size() > kMaxNameBytes) return invalid("group must be at most 256 bytes");
  if (task.replace && task.key.empty()) return invalid("replace needs a key");
  if (task.priority < -100 || task.priority > 100) return invalid("priority must be from -100 to 100");
  if (task.max_attempts && (*task.max_attempts < 1 || *task.max_attempts > 1'000'000)) {
    return invalid("maxAttempts must be from 1 to 1000000");
  }
  if (auto ok = check_time(task.ttl, "ttl"); !ok) return ok;
  if (auto ok = check_time(task.delay, "delay"); !ok) return ok;
  for (const auto& [name, value] : task.attributes) {
    auto& reserved = attribute::kReserved;
    if (std::find(reserved.begin(), reserved.end(), name) != reserved.end()) {
      return invalid("attribute '" + name + "' is Freshet's own: it cannot be among `attributes`");
    }
  }
  return {};
}

}  // namespace

// While it lives, no other create looks at that key.
class Queue::KeyGuard {
 public:
  KeyGuard(Queue& queue, std::string key) : queue_(queue), key_(std::move(key)) { queue_.busy_keys_[key_]; }
  KeyGuard(const KeyGuard&) = delete;
  KeyGuard& operator=(const KeyGuard&) = delete;
  ~KeyGuard() {
    auto waiting = queue_.busy_keys_.extract(key_);
    for (auto& promise : waiting.mapped()) promise.set(true);
  }

 private:
  Queue& queue_;
  const std::string key_;
};

Result<Item> Queue::new_item(NewTask& task) {
  if (auto ok = check(task); !ok) return fail(ok.error());
  auto now = wall();
  last_created_ = std::max(last_created_, now);
  Item item = std::move(task.attributes);
  item.reserve(item.size() + 8);
  if (task.id.empty()) task.id = services_.random.uuid();
  bool delayed = task.delay && task.delay->count() > 0;
  item.set(attribute::kAttempt, Value::number(0));
  if (task.deadline) item.set(attribute::kDeadline, Value::number(epoch_ms(*task.deadline)));
  if (!lanes_.empty() && !delayed) item.set(attribute::kLane, Value(lane_name(task.priority, task.group)));
  if (!task.group.empty()) item.set(attribute::kGroup, Value(task.group));
  if (!task.key.empty()) {
    item.set(attribute::kKey, Value(task.key));
    item.set(attribute::kLiveKey, Value(task.key));
  }
  if (task.max_attempts) item.set(attribute::kMaxAttempts, Value::number(*task.max_attempts));
  if (delayed) item.set(attribute::kNotBefore, Value::number(epoch_ms(now + *task.delay)));
  if (!task.payload.is(Type::kNull)) item.set(attribute::kPayload, std::move(task.payload));
  if (task.priority != 0) item.set(attribute::kPriority, Value::number(task.priority));
  item.set(attribute::kCreated, Value::number(epoch_ms(last_created_)));
  item.set(attribute::kId, Value(task.id));
  item.set(attribute::kStatus, Value(delayed ? state::kDelayed : state::kPending));
  auto ttl = task.ttl ? task.ttl : settings_.default_ttl;
  if (ttl) item.set(attribute::kTtl, Value::number(epoch_s(now + *ttl + milliseconds(999))));
  if (const size_t size = billed_size(item); size > kMaxTaskBytes) {
    return invalid("task '" + task.id + "' has " + std::to_string(size) + " bytes; at most " +
                   std::to_string(kMaxTaskBytes) + " leave room for its lease, history and error");
  }
  return item;
}

PutItemInput Queue::put_new(Item item) const {
  PutItemInput put;
  put.table = table_;
  put.item = std::move(item);
  put.condition = "attribute_not_exists(taskId)";
  put.cause = Cause::kQueue;
  return put;
}

// The lanes that these tasks need, so that the queue knows them before it has a task in them.
std::vector<std::string> Queue::lanes_wanted(const std::vector<NewTask>& tasks) const {
  std::vector<std::string> names;
  std::string last;
  for (const auto& task : tasks) {
    bool asks = task.priority != 0 || !task.group.empty();
    if ((!asks && lanes_.empty()) || task.group.size() > kMaxNameBytes) continue;
    auto name = lane_name(task.priority, task.group);
    if (name == last) continue;
    last = name;
    if (!lanes_.contains(name)) names.push_back(std::move(name));
  }
  if (!names.empty() && lanes_.empty()) names.push_back(lane_name(0, ""));
  return names;
}

Async<std::vector<Result<CreatedTask>>> Queue::create(std::vector<NewTask> tasks) {
  std::vector<Result<CreatedTask>> out(tasks.size(), CreatedTask{});
  auto lanes = lanes_wanted(tasks);
  if (!lanes.empty()) {
    auto known = co_await add_lanes(std::move(lanes));
    if (!known) co_return std::vector<Result<CreatedTask>>(tasks.size(), fail(known.error()));
  }
  std::vector<WriteInput> writes;
  writes.reserve(tasks.size());
  std::vector<size_t> places;
  std::vector<size_t> keyed;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].key.empty()) {
      keyed.push_back(i);
      continue;
    }
    auto item = new_item(tasks[i]);
    if (!item) {
      out[i] = fail(std::move(item.error()));
      continue;
    }
    out[i]->id = std::move(tasks[i].id);
    writes.emplace_back(put_new(std::move(*item)));
    places.push_back(i);
  }
  if (!writes.empty()) {
    auto answers = co_await services_.tables.write_many(std::move(writes));
    for (size_t i = 0; i < answers.size(); ++i) {
      auto& result = out[places[i]];
      if (!answers[i]) {
        refused(result, answers[i].error());
      } else {
        created(tasks[places[i]]);
      }
    }
  }
  for (auto place : keyed) {
    auto result = co_await create_keyed(std::move(tasks[place]));
    out[place] = std::move(result);
  }
  wake();
  co_return out;
}

// A put that was refused because the id is there already is no error.
void Queue::refused(Result<CreatedTask>& result, Error& error) {
  if (error.code == ErrorCode::kConditionalCheckFailed) {
    result->created = false;
  } else {
    result = fail(std::move(error));
  }
}

void Queue::created(const NewTask& task) {
  if (task.delay && task.delay->count() > 0) {
    delayed_until(epoch_ms(wall() + *task.delay));
    return;
  }
  if (!lanes_.empty()) lanes_[lane_name(task.priority, task.group)].maybe = true;
  // The stream tells the trigger function at once; this is for when that gets lost.
  if (processors_ == 0) start_soon(settings_.start_retry);
}

Async<Result<CreatedTask>> Queue::create_keyed(NewTask task) {
  auto key = task.key;
  while (busy_keys_.contains(key)) {
    Promise<bool> free(services_.scheduler);
    busy_keys_[key].push_back(free);
    co_await free.future();
  }
  KeyGuard guard(*this, key);
  auto live = co_await live_tasks(key);
  if (!live) co_return fail(live.error());
  if (!task.replace && !live->empty()) {
    co_return CreatedTask{std::string(text_of(live->front(), attribute::kId)), false};
  }
  auto item = new_item(task);
  if (!item) co_return fail(item.error());
  CreatedTask out{task.id, true};
  auto put = put_new(std::move(*item));
  auto answer = co_await services_.tables.put_item(std::move(put));
  if (!answer) {
    Result<CreatedTask> result = out;
    refused(result, answer.error());
    co_return result;
  }
  created(task);
  // The new task first, so that a crash in between leaves one too many and never none.
  std::vector<WriteInput> replaced;
  for (const auto& old : *live) {
    auto status = text_of(old, attribute::kStatus);
    if (status == state::kTaken || text_of(old, attribute::kId) == out.id) continue;
    replaced.emplace_back(end_waiting(table_, old, status, state::kCancelled, attribute::kReplacedBy, out.id, wall()));
  }
  // One that was taken meanwhile goes on, as one that was taken before does.
  if (!replaced.empty()) co_await services_.tables.write_many(std::move(replaced));
  co_return out;
}

// Tasks of that key that wait or are held, newest first.
Async<Result<std::vector<ItemRef>>> Queue::live_tasks(std::string key) {
  QueryInput query;
  query.table = table_;
  query.index = kKeyIndex;
  query.key_condition = "liveKey = :k";
  query.placeholders.values.set(":k", Value(key));
  query.forward = false;
  query.limit = 100;
  auto page = co_await services_.tables.query(std::move(query));
  if (!page) co_return fail(page.error());
  co_return std::move(page->items);
}

}  // namespace freshet
