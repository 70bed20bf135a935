#include "wire/tasks/requests.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <span>

namespace freshet::tasks {
namespace {

constexpr int64_t kMaxMilliseconds = int64_t{366} * 86'400'000;  // Of a duration, as the queue has it.
constexpr int64_t kMaxTime = 253'402'300'799'999;                // The last millisecond of the year 9999.

// Reads members of one object; remembers the first error, so that the caller checks once.
class Members {
 public:
  Members(const JsonView& object, std::initializer_list<std::string_view> known) : object_(object) {
    if (!object.is(JsonKind::kObject)) {
      refuse(object, "must be an object");
      return;
    }
    for (const JsonView member : object) {
      if (std::find(known.begin(), known.end(), member.name()) == known.end()) {
        std::string names;
        for (const auto name : known) names += (names.empty() ? "" : ", ") + std::string(name);
        refuse(member, "is not known; there are " + names);
        return;
      }
    }
  }

  template <class Text>
  void text(std::string_view name, Text& into) {
    take(object_.string_or(name), name, into);
  }
  void boolean(std::string_view name, bool& into) { take(object_.bool_or(name, into), name, into); }

  template <class Number>
  void integer(std::string_view name, int64_t min, int64_t max, Number& into) {
    const auto member = find(name);
    if (!member) return;
    const auto number = member->as_int();
    if (!number) return fail_with(number.error());
    if (*number < min || *number > max) {
      return refuse(*member, "must be from " + std::to_string(min) + " to " + std::to_string(max));
    }
    into = static_cast<Number>(*number);
  }

  void duration(std::string_view name, int64_t min_ms, int64_t max_ms, std::optional<milliseconds>& into) {
    int64_t ms = 0;
    if (!find(name)) return;
    integer(name, min_ms, max_ms, ms);
    into = milliseconds(ms);
  }

  // Seconds, which may have a fraction.
  void seconds_member(std::string_view name, std::optional<milliseconds>& into) {
    const auto member = find(name);
    if (!member) return;
    double value = 0;
    const std::string_view spelling = member->text();
    const auto [end, error] = std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
    if (!member->is(JsonKind::kNumber) || error != std::errc{} || end != spelling.data() + spelling.size() ||
        !(value > 0) || value * 1000 > static_cast<double>(kMaxMilliseconds)) {
      return refuse(*member, "must be a number of seconds above 0, at most " + std::to_string(kMaxMilliseconds / 1000));
    }
    into = milliseconds(std::max<int64_t>(1, std::llround(value * 1000)));
  }

  void value(std::string_view name, Value& into) {
    if (const auto member = find(name)) take(plain_value_of(*member), name, into);
  }

  std::optional<JsonView> find(std::string_view name) { return error_ ? std::nullopt : object_.find(name); }

  void fail_with(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void refuse(const JsonView& where, const std::string& why) {
    const std::string path = where.path();
    fail_with({ErrorCode::kValidation, (path.empty() ? "the body" : "'" + path + "'") + " " + why, nullptr});
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class From, class To>
  void take(Result<From> from, std::string_view name, To& into) {
    if (error_ || !object_.find(name)) return;
    if (!from) return fail_with(from.error());
    into = To(std::move(*from));
  }

  const JsonView object_;
  std::optional<Error> error_;
};

// The elements of the array `name`, at most kMaxBatch of them.
Result<JsonView> batch(const JsonView& body, std::string_view name) {
  const auto member = body.find(name);
  if (!member) return invalid("'" + std::string(name) + "' is missing");
  auto array = member->as_array();
  if (array && array->size() > kMaxBatch) {
    return invalid("'" + member->path() + "' has " + std::to_string(array->size()) + " elements; at most " +
                   std::to_string(kMaxBatch) + " go into one request");
  }
  return array;
}

Result<NewTask> read_task(const JsonView& json) {
  NewTask task;
  Members members(json, {"taskId", "payload", "ttlSeconds", "deadline", "delayMs", "key", "replace", "group",
                         "priority", "maxAttempts", "attributes"});
  members.text("taskId", task.id);
  if (const auto id = members.find("taskId"); id && task.id.empty()) {
    members.refuse(*id, "must not be empty; leave it out to have one made");
  }
  members.value("payload", task.payload);
  members.seconds_member("ttlSeconds", task.ttl);
  if (members.find("deadline")) {
    int64_t deadline = 0;
    members.integer("deadline", 1, kMaxTime, deadline);
    task.deadline = WallTime(milliseconds(deadline));
  }
  members.duration("delayMs", 0, kMaxMilliseconds, task.delay);
  members.text("key", task.key);
  members.boolean("replace", task.replace);
  members.text("group", task.group);
  members.integer("priority", -100, 100, task.priority);
  if (members.find("maxAttempts")) {
    int attempts = 0;
    members.integer("maxAttempts", 1, 1'000'000, attempts);
    task.max_attempts = attempts;
  }
  if (const auto attributes = members.find("attributes")) {
    Value value;
    members.value("attributes", value);
    if (auto* map = value.get_if<Map>()) {
      task.attributes = std::move(*map);
    } else {
      members.refuse(*attributes, "must be an object");
    }
  }
  if (members.error()) return fail(*members.error());
  return task;
}

Result<Settlement> read_settlement(const JsonView& json) {
  Settlement settlement;
  std::string outcome;
  Members members(json, {"taskId", "lease", "outcome", "result", "error", "delayMs", "final"});
  members.text("taskId", settlement.id);
  members.text("lease", settlement.lease);
  members.text("outcome", outcome);
  members.value("result", settlement.result);
  members.text("error", settlement.error);
  members.duration("delayMs", 0, kMaxMilliseconds, settlement.delay);
  members.boolean("final", settlement.final);
  if (outcome == "complete") {
    settlement.kind = Settlement::Kind::kComplete;
  } else if (outcome == "fail") {
    settlement.kind = Settlement::Kind::kFail;
  } else if (outcome == "release") {
    settlement.kind = Settlement::Kind::kRelease;
  } else if (outcome == "heartbeat") {
    settlement.kind = Settlement::Kind::kHeartbeat;
  } else {
    members.refuse(json, "needs an 'outcome' that is complete, fail, release or heartbeat");
  }
  if (settlement.id.empty() || settlement.lease.empty()) members.refuse(json, "needs 'taskId' and 'lease'");
  if (members.error()) return fail(*members.error());
  return settlement;
}

template <class Element, class Read>
Result<std::vector<Element>> read_all(const JsonView& array, Read read) {
  std::vector<Element> elements;
  elements.reserve(array.size());
  for (const JsonView json : array) {
    auto element = read(json);
    if (!element) return fail(element.error());
    elements.push_back(std::move(*element));
  }
  return elements;
}

Result<std::vector<std::string>> read_ids(const JsonView& body) {
  const auto ids = batch(body, "taskIds");
  if (!ids) return fail(ids.error());
  return read_all<std::string>(*ids, [](const JsonView& json) -> Result<std::string> {
    const auto id = json.as_string();
    if (!id) return fail(id.error());
    return std::string(*id);
  });
}

}  // namespace

Result<CreateRequest> read_create(const JsonView& body) {
  CreateRequest request;
  if (!body.find("tasks")) {
    auto task = read_task(body);
    if (!task) return fail(task.error());
    request.single = true;
    request.tasks.push_back(std::move(*task));
    return request;
  }
  const Members members(body, {"tasks"});
  if (members.error()) return fail(*members.error());
  const auto array = batch(body, "tasks");
  if (!array) return fail(array.error());
  auto tasks = read_all<NewTask>(*array, read_task);
  if (!tasks) return fail(tasks.error());
  request.tasks = std::move(*tasks);
  return request;
}

Result<TakeRequest> read_take(const JsonView& body) {
  TakeRequest request;
  Members members(body, {"max", "leaseMs", "waitMs", "owner", "settle"});
  members.integer("max", 1, kMaxBatch, request.take.max);
  members.duration("leaseMs", 100, 86'400'000, request.take.lease);
  std::optional<milliseconds> wait;
  members.duration("waitMs", 0, 60'000, wait);
  request.take.wait = wait.value_or(milliseconds(0));
  members.text("owner", request.take.owner);
  if (members.error()) return fail(*members.error());
  if (body.find("settle")) {
    request.settles = true;
    const auto array = batch(body, "settle");
    if (!array) return fail(array.error());
    auto settle = read_all<Settlement>(*array, read_settlement);
    if (!settle) return fail(settle.error());
    request.settle = std::move(*settle);
  }
  return request;
}

Result<std::vector<Settlement>> read_settle(const JsonView& body) {
  const Members members(body, {"settle"});
  if (members.error()) return fail(*members.error());
  const auto array = batch(body, "settle");
  if (!array) return fail(array.error());
  return read_all<Settlement>(*array, read_settlement);
}

Result<std::vector<std::string>> read_cancel(const JsonView& body) {
  const Members members(body, {"taskIds"});
  if (members.error()) return fail(*members.error());
  return read_ids(body);
}

Result<RedriveInput> read_redrive(const JsonView& body) {
  RedriveInput input;
  Members members(body, {"state", "taskIds", "limit"});
  members.text("state", input.state);
  members.integer("limit", 1, 100'000, input.limit);
  if (members.error()) return fail(*members.error());
  if (body.find("taskIds")) {
    auto ids = read_ids(body);
    if (!ids) return fail(ids.error());
    if (ids->empty()) return invalid("'taskIds' is empty; leave it out to redrive all of that state");
    input.ids = std::move(*ids);
  }
  return input;
}

}  // namespace freshet::tasks
