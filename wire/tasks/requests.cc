#include "wire/tasks/requests.h"

#include "runtime/json_members.h"
#include "tables/value/json.h"

namespace freshet::tasks {
namespace {

constexpr int64_t kMaxMilliseconds = JsonMembers::kMaxMilliseconds;  // Of a duration, as the queue has it.
constexpr int64_t kMaxTime = 253'402'300'799'999;                    // The last millisecond of the year 9999.

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
  JsonMembers members(json, {"taskId", "payload", "ttlSeconds", "deadline", "delayMs", "key", "replace", "group",
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
  JsonMembers members(json, {"taskId", "lease", "outcome", "result", "error", "delayMs", "final"});
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

// An object of texts and numbers; a number is the text that it is.
Result<std::map<std::string, std::string>> read_texts(const JsonView& json) {
  std::map<std::string, std::string> out;
  const auto object = json.as_object();
  if (!object) return fail(object.error());
  for (const JsonView member : *object) {
    const auto [place, fresh] = out.try_emplace(std::string(member.name()));
    if (!fresh) return invalid("'" + member.path() + "' is there twice");
    auto& text = place->second;
    if (member.is(JsonKind::kString)) {
      text = member.text();
      continue;
    }
    const auto value = plain_value_of(member);
    if (!value) return fail(value.error());
    if (!value->is(Type::kNumber) && !value->is(Type::kBool)) {
      return invalid("'" + member.path() + "' must be a text or a number");
    }
    text.clear();
    append_plain_json(text, *value);
  }
  return out;
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
  const JsonMembers members(body, {"tasks"});
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
  JsonMembers members(body, {"max", "leaseMs", "waitMs", "owner", "settle"});
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
  const JsonMembers members(body, {"settle"});
  if (members.error()) return fail(*members.error());
  const auto array = batch(body, "settle");
  if (!array) return fail(array.error());
  return read_all<Settlement>(*array, read_settlement);
}

Result<std::vector<std::string>> read_cancel(const JsonView& body) {
  const JsonMembers members(body, {"taskIds"});
  if (members.error()) return fail(*members.error());
  return read_ids(body);
}

Result<QueuePolicy> read_policy(const JsonView& body) {
  auto changes = read_texts(body);
  if (changes && changes->empty()) return invalid("the request names no setting to change");
  return changes;
}

Result<RedriveInput> read_redrive(const JsonView& body) {
  RedriveInput input;
  JsonMembers members(body, {"state", "taskIds", "limit", "where"});
  members.text("state", input.state);
  members.integer("limit", 1, 100'000, input.limit);
  if (members.error()) return fail(*members.error());
  if (const auto where = body.find("where")) {
    auto texts = read_texts(*where);
    if (!texts) return fail(texts.error());
    if (texts->empty()) return invalid("'where' is empty; leave it out to redrive all of that state");
    for (auto& [name, text] : *texts) input.where.emplace_back(name, std::move(text));
  }
  if (body.find("taskIds")) {
    auto ids = read_ids(body);
    if (!ids) return fail(ids.error());
    if (ids->empty()) return invalid("'taskIds' is empty; leave it out to redrive all of that state");
    input.ids = std::move(*ids);
  }
  return input;
}

}  // namespace freshet::tasks
