#include "functions/queue/shell/creation.h"

#include <algorithm>

#include "base/limits.h"
#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/hand_over.h"
#include "functions/queue/policy/lanes.h"
#include "functions/queue/shell/parts.h"
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

// `immediate`: the store answers immediately (SureWrites).
Result<void> check(const NewTask& task, bool immediate) {
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

}  // namespace

Result<Item> Creation::new_item(NewTask& task, WallTime now) {
  if (auto ok = check(task, sure_.is_immediate()); !ok) return fail(ok.error());
  const WallTime created = core_.times.create(now);
  Item item = std::move(task.attributes);
  item.reserve(item.size() + 9);
  if (task.id.empty()) task.id = services_.random.uuid();
  bool delayed = task.delay && task.delay->count() > 0;
  item.set(attribute::kAttempt, Value::number(0));
  if (task.deadline) item.set(attribute::kDeadline, Value::number(epoch_ms(*task.deadline)));
  if (!core_.lanes.empty() && !delayed) item.set(attribute::kLane, Value(core_.lanes.of_new(task)));
  if (!task.group.empty()) item.set(attribute::kGroup, Value(task.group));
  if (!task.key.empty()) {
    item.set(attribute::kKey, Value(task.key));
    item.set(attribute::kLiveKey, Value(task.key));
  }
  if (task.cost) item.set(attribute::kCost, cost_value(*task.cost));
  if (task.max_attempts) item.set(attribute::kMaxAttempts, Value::number(*task.max_attempts));
  if (delayed) item.set(attribute::kNotBefore, Value::number(epoch_ms(now + *task.delay)));
  if (!task.payload.is(Type::kNull)) item.set(attribute::kPayload, std::move(task.payload));
  if (task.priority != 0) item.set(attribute::kPriority, Value::number(task.priority));
  item.set(attribute::kCreated, Value::number(epoch_ms(created)));
  if (task.replace) item.set(attribute::kReplace, Value::boolean(true));
  item.set(attribute::kId, Value(task.id));
  item.set(attribute::kStatus, Value(delayed ? state::kDelayed : state::kPending));
  if (const auto ttl = task.ttl ? task.ttl : settings_.default_ttl) {
    const auto end = Value::number(epoch_s(stored_ttl(now, *ttl)));
    // The mark adds 2.5 % to the instructions of a task's life, so only queues that need it have it.
    if (!task.ttl && !settings_.keep.is_empty()) item.set(attribute::kQueueTtl, end);
    item.set(attribute::kTtl, end);
  }
  if (const size_t size = billed_size(item); size > kMaxTaskBytes) {
    return invalid("task '" + task.id + "' has " + std::to_string(size) + " bytes; at most " +
                   std::to_string(kMaxTaskBytes) + " leave room for its lease, history and error");
  }
  return item;
}

PutItemInput Creation::put_new(Item item) const {
  PutItemInput put;
  put.table = table_;
  put.item = std::move(item);
  put.only_new = !FRESHET_PLANTED("create-overwrites");
  put.cause = Cause::kQueue;
  return put;
}

// Computes the deadline from the time until it, as the task or the queue gives it. A deadline that is a point in time
// stays as it is.
void Creation::set_deadline(NewTask& task) const {
  if (task.deadline) return;
  if (task.deadline_in) {
    task.deadline = wall() + *std::exchange(task.deadline_in, std::nullopt);
  } else if (settings_.default_deadline) {
    task.deadline = wall() + task.delay.value_or(milliseconds(0)) + *settings_.default_deadline;
  }
}

// This check comes before all others, so that a client does not come back later with a task that is wrong anyway.
std::vector<Result<CreatedTask>> Creation::refuse_wrong(const std::vector<NewTask>& tasks) const {
  std::vector<Result<CreatedTask>> out;
  out.reserve(tasks.size());
  for (const auto& task : tasks) {
    if (auto ok = check(task, sure_.is_immediate()); ok) {
      out.emplace_back(CreatedTask{});
    } else {
      out.emplace_back(fail(std::move(ok.error())));
    }
  }
  return out;
}

// The rest of the checks, which need the whole item.
std::optional<Error> Creation::wrong(const NewTask& task) {
  NewTask copy = task;
  auto item = new_item(copy, wall());
  if (item) return std::nullopt;
  return std::move(item.error());
}

std::optional<Error> Creation::wrong_for_all(const NewTask& members) {
  if (auto error = wrong(members)) return error;
  if (!members.deadline || *members.deadline > wall()) return std::nullopt;
  return Error{ErrorCode::kValidation, passed_deadline(epoch_ms(*members.deadline), epoch_ms(wall())), nullptr};
}

// In the order of the batch, as that is the order of arrival.
Async<std::vector<Result<CreatedTask>>> Creation::create(std::vector<NewTask> tasks) {
  if (parts_.table.gone()) co_return std::vector<Result<CreatedTask>>(tasks.size(), fail(*parts_.table.gone()));
  std::vector<Result<CreatedTask>> out = refuse_wrong(tasks);
  bool any_passed = false;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (out[i]) set_deadline(tasks[i]);
    any_passed = any_passed || (tasks[i].deadline && *tasks[i].deadline <= wall());
  }
  if (any_passed) co_await refuse_passed(tasks, out);
  const bool had_lanes = !core_.lanes.empty();
  auto lanes = core_.lanes.needed_by(tasks, out);  // The queue must know a lane before it has a task in it.
  if (!lanes.empty()) {
    auto known = co_await parts_.adoption.add_lanes(std::move(lanes));
    if (!known) refuse_without_lane(tasks, known.error(), out);
  }
  if (settings_.admission.refuse_late) co_await refuse_late(tasks, out);
  if (settings_.admission.is_bounded()) co_await refuse_beyond_bound(tasks, out);
  for (size_t next = 0; next < tasks.size();) {
    if (tasks[next].key.empty()) {
      next = co_await create_plain(tasks, next, out);
      continue;
    }
    if (out[next]) {
      // A client that hangs up before its turn has created nothing. After that, it must not leave a task behind that
      // has not replaced the others yet.
      std::string key = tasks[next].key;
      co_await parts_.keyed.wait_for_key(std::move(key));
      auto work = parts_.keyed.create_keyed(std::move(tasks[next]));
      if (work.is_ready()) {
        out[next] = work.take();
      } else {
        Promise<Result<CreatedTask>> done(services_.scheduler);
        base_.lasting.spawn(hand_over(std::move(work), done));
        auto result = co_await done.future();
        out[next] = std::move(result);
      }
    }
    ++next;
  }
  // A put that was in progress when the queue got its first lane has no lane, and adopt_all() may have missed it.
  if (!had_lanes && !core_.lanes.empty()) core_.adopter.try_again();
  parts_.takes.wake();
  co_return out;
}

// Refuses the tasks for whose lane there was no room; the others of the batch go on.
void Creation::refuse_without_lane(const std::vector<NewTask>& tasks, const Error& why,
                                   std::vector<Result<CreatedTask>>& out) {
  std::vector<ShedLine> lines;
  for (size_t i = 0; i < tasks.size(); ++i) {
    bool asks = tasks[i].priority != 0 || !tasks[i].group.empty();
    if (!out[i] || !asks || core_.lanes.contains(lane_name(tasks[i].priority, tasks[i].group))) continue;
    if (auto error = wrong(tasks[i])) {
      out[i] = fail(std::move(*error));
      continue;
    }
    out[i] = fail(why);
    // The log has only refusals at the bound, not those because the store refused the new names.
    if (why.code == ErrorCode::kLimitExceeded)
      lines.push_back(parts_.sheds.refused_line(tasks[i], "lanes", "max-lanes"));
  }
  core_.admission.refused(&Refusals::lanes, lines.size());
  if (!lines.empty()) parts_.sheds.log_beside(std::move(lines));
}

// Puts the tasks from `first` up to the next one with a key, and returns the index of that one. Both vectors outlive
// it.
Async<size_t> Creation::create_plain(std::vector<NewTask>& tasks, size_t first, std::vector<Result<CreatedTask>>& out) {
  std::vector<WriteInput> writes;
  std::vector<size_t> places;
  const WallTime now = wall();
  size_t next = first;
  for (; next < tasks.size() && tasks[next].key.empty(); ++next) {
    if (!out[next]) continue;
    auto item = new_item(tasks[next], now);
    if (!item) {
      out[next] = fail(std::move(item.error()));
      continue;
    }
    out[next]->id = std::move(tasks[next].id);
    writes.emplace_back(put_new(std::move(*item)));
    places.push_back(next);
  }
  if (writes.empty()) co_return next;
  auto answers = co_await sure_.create(std::move(writes));
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) {
      refused(out[places[i]], answers[i].error());
    } else {
      created(tasks[places[i]], out[places[i]]->id, now);
    }
  }
  co_return next;
}

// A put that was refused because the id already exists is no error.
void Creation::refused(Result<CreatedTask>& result, Error& error) {
  if (error.code == ErrorCode::kConditionalCheckFailed) {
    FRESHET_REACHED("a create that is there already");
    result->created = false;
  } else {
    result = fail(std::move(error));
  }
}

void Creation::created(const NewTask& task, std::string_view id, WallTime written) {
  if (task.delay && task.delay->count() > 0) {
    parts_.promotion.delayed(id, written, epoch_ms(written + *task.delay));
    return;
  }
  if (task.deadline) parts_.shedding.due_by(epoch_ms(*task.deadline));
  if (!core_.lanes.empty()) {
    const int64_t deadline = task.deadline ? epoch_ms(*task.deadline) : 0;
    core_.lanes.filled_by_new(core_.lanes.of_new(task),
                              core_.lanes.place(epoch_ms(core_.times.newest_created()), deadline));
  }
  // The stream calls the trigger function at once. This covers a lost call, and tables whose stream is not read.
  const bool by_stream = Follower::can_follow(services_.tables.traits());
  if (!core_.agenda.has_processor()) parts_.timer.start_soon(by_stream ? settings_.start_retry : milliseconds(0));
}

}  // namespace freshet
