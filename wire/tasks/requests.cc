#include "wire/tasks/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/api/json_members.h"
#include "runtime/api/task_cost.h"
#include "tables/value/json.h"

namespace freshet::tasks {
namespace {

constexpr int64_t kMaxMilliseconds = JsonMembers::kMaxMilliseconds;  // The longest duration that the queue takes.
constexpr int64_t kMaxTime = 253'402'300'799'999;                    // The last millisecond of the year 9999.

// The elements of the array `name`, at most kMaxBatch of them.
Result<JsonView> batch(const JsonView& body, std::string_view name) {
  const auto member = body.find(name);
  if (!member) return invalid("'" + std::string(name) + "' is missing");
  auto array = list_in(*member);
  if (array && array->size() > kMaxBatch) {
    return invalid("'" + member->path() + "' has " + std::to_string(array->size()) + " elements; at most " +
                   std::to_string(kMaxBatch) + " go into one request");
  }
  return array;
}

void read_cost(JsonMembers& members, std::optional<double>& cost) {
  const auto member = members.find("cost");
  if (!member) return;
  double number = 0;
  const auto text = member->text();
  std::from_chars(text.data(), text.data() + text.size(), number);
  if (!member->is(JsonKind::kNumber) || !is_cost(number)) {
    return members.refuse(*member, std::string("must be ") + kCostRange);
  }
  cost = number;
}

const std::initializer_list<std::string_view> kTaskMembers = {
    "taskId",  "payload", "ttlSeconds", "deadline",    "deadlineMs", "delayMs",   "key",
    "replace", "group",   "priority",   "maxAttempts", "cost",       "attributes"};

constexpr const char* kCopyMembers =
    "payload, ttlSeconds, deadline, deadlineMs, delayMs, group, priority, maxAttempts, cost, attributes";

// A client that sends its data without `payload` learns where the data goes.
Error with_place_of_data(Error error, const JsonView& json) {
  const auto is_known = [](std::string_view name) {
    return std::find(kTaskMembers.begin(), kTaskMembers.end(), name) != kTaskMembers.end();
  };
  if (!json.is(JsonKind::kObject)) {
    error.message += R"(, as in {"payload": {"to": "ada"}})";
    if (json.path().empty()) error.message += R"(; several tasks go into {"tasks": [ ... ]})";
    return error;
  }
  for (const JsonView member : json) {
    if (is_known(member.name())) continue;
    error.message += R"(; your own data goes into 'payload', as in {"payload": {"to": "ada"}})";
    break;
  }
  return error;
}

Result<NewTask> read_task(const JsonView& json) {
  NewTask task;
  JsonMembers members(json, kTaskMembers);
  members.text("taskId", task.id);
  if (const auto id = members.find("taskId"); id && task.id.empty()) {
    members.refuse(*id, "must not be empty; leave it out to have one made");
  }
  members.value("payload", task.payload);
  members.seconds_member("ttlSeconds", task.ttl);
  if (const auto text = members.find("deadline"); text && text->is(JsonKind::kString)) {
    members.refuse(*text,
                   "must be a time as a number of milliseconds since 1970, not a text; for a time from now write "
                   "'deadlineMs', like 5000");
  } else if (text) {
    int64_t deadline = 0;
    members.integer("deadline", 1, kMaxTime, deadline);
    task.deadline = WallTime(milliseconds(deadline));
  }
  members.duration("deadlineMs", 1, kMaxMilliseconds, task.deadline_in);
  if (const auto both = members.find("deadline"); both && task.deadline_in) {
    members.refuse(*both, "and 'deadlineMs' both say until when the task is worth starting: leave out 'deadline'");
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
  read_cost(members, task.cost);
  if (const auto attributes = members.find("attributes")) {
    Value value;
    members.value("attributes", value);
    if (auto* map = value.get_if<Map>()) {
      task.attributes = std::move(*map);
    } else {
      members.refuse(*attributes, "must be an object");
    }
  }
  if (members.error()) return fail(with_place_of_data(*members.error(), json));
  return task;
}

Result<Settlement> read_settlement(const JsonView& json) {
  Settlement settlement;
  std::string outcome;
  JsonMembers members(json, {"taskId", "lease", "outcome", "result", "error", "delayMs", "final", "cost"});
  members.text("taskId", settlement.id);
  members.text("lease", settlement.lease);
  members.text("outcome", outcome);
  members.value("result", settlement.result);
  members.text("error", settlement.error);
  members.duration("delayMs", 0, kMaxMilliseconds, settlement.delay);
  members.boolean("final", settlement.final);
  read_cost(members, settlement.cost);
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
    const auto id = text_in(json);
    if (!id) return fail(id.error());
    return std::string(*id);
  });
}

// An object of texts and numbers; a number is the text that it is. The member `except` is left out.
Result<std::map<std::string, std::string>> read_texts(const JsonView& json, std::string_view except = {}) {
  std::map<std::string, std::string> out;
  const auto object = object_in(json);
  if (!object) return fail(object.error());
  for (const JsonView member : *object) {
    if (!except.empty() && member.name() == except) continue;
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

// `group` or `key`, or neither: the whole queue.
void read_part(JsonMembers& members, PausedPart& part) {
  std::optional<std::string> group;
  std::optional<std::string> key;
  if (members.find("group")) members.text("group", group.emplace());
  if (const auto both = members.find("key")) {
    if (group) members.refuse(*both, "and 'group' are both there: pause one after the other");
    members.text("key", key.emplace());
  }
  if (group) part = {Pause::Of::kGroup, std::move(*group)};
  if (key) part = {Pause::Of::kKey, std::move(*key)};
}

Result<std::vector<std::string>> read_states(const JsonView& json) {
  const auto list = list_in(json);
  if (!list) return fail(list.error());
  return read_all<std::string>(*list, [](const JsonView& one) -> Result<std::string> {
    const auto state = text_in(one);
    if (!state) return fail(state.error());
    return std::string(*state);
  });
}

Result<PolicyGuardTerms> read_guard(const JsonView& json) {
  PolicyGuardTerms terms;
  JsonMembers members(json, {"points", "withinMs"});
  std::optional<milliseconds> within;
  members.real("points", 0, 1e9, terms.points);
  members.duration("withinMs", 10'000, 86'400'000, within);
  if (members.error()) return fail(*members.error());
  if (!(terms.points > 0) || terms.points > 100) {
    return invalid("'guard.points' must be percentage points, above 0 and at most 100");
  }
  if (!within) return invalid("'guard.withinMs' must be there: milliseconds, 10000 to 86400000");
  terms.within = *within;
  return terms;
}

// An object of attributes and what they must be. `otherwise`: what is done without it.
Result<TaskWhere> read_where(const JsonView& json, const std::string& otherwise) {
  auto texts = read_texts(json);
  if (!texts) return fail(texts.error());
  if (texts->empty()) return invalid("'where' is empty; leave it out to " + otherwise);
  TaskWhere out;
  for (auto& [name, text] : *texts) out.emplace_back(name, std::move(text));
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

void name_tasks(CreateRequest& request, std::string_view uuid) {
  constexpr size_t kDigits = 4;
  const bool is_uuid = uuid.size() == 36 && uuid.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
  if (!is_uuid) return;
  const std::string_view start = uuid.substr(0, uuid.size() - kDigits);
  for (size_t i = 0; i < request.tasks.size(); ++i) {
    if (!request.tasks[i].id.empty()) continue;
    request.tasks[i].id = fmt::format("{}{:04x}", start, i);
    request.named.push_back(i);
  }
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

Result<PolicyRequest> read_policy(const JsonView& body) {
  PolicyRequest request;
  // find() passes over a member that is null.
  for (const JsonView member : body) {
    const bool is_guard = member.name() == "guard";
    if (!is_guard && body.is(JsonKind::kObject) && member.is(JsonKind::kObject)) {
      return invalid("'" + member.path() +
                     "' is no setting: settings stand in the body itself, as in {\"ORDER\": \"fifo\"}");
    }
    if (!is_guard) continue;
    if (request.guard || request.keeps) return invalid("'guard' is there twice");
    request.keeps = member.is(JsonKind::kNull);
    if (request.keeps) continue;
    auto terms = read_guard(member);
    if (!terms) return fail(terms.error());
    request.guard = *terms;
  }
  auto texts = read_texts(body, "guard");
  if (!texts) return fail(texts.error());
  if (const auto dry = texts->extract("dryRun"); !dry.empty()) {
    if (dry.mapped() != "true" && dry.mapped() != "false") return invalid("'dryRun' must be true or false");
    request.dry_run = dry.mapped() == "true";
  }
  if (texts->empty() && (request.guard || !request.keeps)) return invalid("the request names no setting to change");
  request.changes = std::move(*texts);
  return request;
}

Result<RedriveInput> read_redrive(const JsonView& body) {
  RedriveInput input;
  JsonMembers members(body, {"state", "taskIds", "limit", "where"});
  members.text("state", input.state);
  members.integer("limit", 1, 100'000, input.limit);
  if (members.error()) return fail(*members.error());
  if (const auto where = body.find("where")) {
    auto conditions = read_where(*where, "redrive all of that state");
    if (!conditions) return fail(conditions.error());
    input.where = std::move(*conditions);
  }
  if (body.find("taskIds")) {
    auto ids = read_ids(body);
    if (!ids) return fail(ids.error());
    if (ids->empty()) return invalid("'taskIds' is empty; leave it out to redrive all of that state");
    input.ids = std::move(*ids);
  }
  return input;
}

Result<PauseInput> read_pause(const JsonView& body) {
  PauseInput input;
  PausedPart part;
  JsonMembers members(body, {"group", "key", "reason", "forMs"});
  read_part(members, part);
  members.text("reason", input.reason);
  members.duration("forMs", 1'000, kMaxMilliseconds, input.lasts);
  if (members.error()) return fail(*members.error());
  input.of = part.of;
  input.name = std::move(part.name);
  return input;
}

Result<PausedPart> read_resume(const JsonView& body) {
  PausedPart part;
  JsonMembers members(body, {"group", "key"});
  read_part(members, part);
  if (members.error()) return fail(*members.error());
  return part;
}

namespace {

// Members of a create request, but for those that only one of the copies could have.
Result<CopyChanges> read_changes(const JsonView& json) {
  const auto object = object_in(json);
  if (!object) return fail(object.error());
  CopyChanges out;
  for (const JsonView member : json) {
    const auto name = member.name();
    if (name == "taskId" || name == "key" || name == "replace") {
      return invalid("'" + member.path() + "' cannot be set: each copy has an id of its own, and none has a key");
    }
    if (std::find(kTaskMembers.begin(), kTaskMembers.end(), name) == kTaskMembers.end()) {
      return invalid("'" + member.path() + "' is not known; there are " + kCopyMembers);
    }
    if (name == "attributes") out.no_attributes = member.is(JsonKind::kNull);
    out.members.emplace_back(name);
  }
  auto to = read_task(json);
  if (!to) return fail(to.error());
  out.to = std::move(*to);
  return out;
}

}  // namespace

Result<BulkInput> read_job(const JsonView& body) {
  BulkInput input;
  JsonMembers members(
      body, {"do", "states", "taskIds", "where", "olderThanMs", "limit", "ratePerSecond", "dryRun", "batch", "set"});
  std::string action;
  members.text("do", action);
  members.duration("olderThanMs", 0, kMaxMilliseconds, input.older_than);
  if (members.find("limit")) members.integer("limit", 1, 1'000'000'000'000, input.limit.emplace());
  if (members.find("ratePerSecond")) members.real("ratePerSecond", 0, 1'000'000, input.rate);
  members.boolean("dryRun", input.dry_run);
  members.text("batch", input.batch);
  if (members.error()) return fail(*members.error());
  if (members.find("ratePerSecond") && input.rate <= 0) {
    return invalid("'ratePerSecond' must be above 0; leave it out to change tasks whenever nobody else waits");
  }
  const auto known = action_named(action);
  if (!known) {
    return invalid("'do' must be purge, cancel, redrive, run or duplicate" +
                   (action.empty() ? "" : ", not '" + action + "'"));
  }
  input.action = *known;
  if (const auto where = body.find("where")) {
    auto conditions = read_where(*where, action + " whatever is in these states");
    if (!conditions) return fail(conditions.error());
    input.where = std::move(*conditions);
  }
  if (const auto states = body.find("states")) {
    auto names = read_states(*states);
    if (!names) return fail(names.error());
    if (names->empty()) return invalid("'states' must have at least one state");
    input.states = std::move(*names);
  }
  if (body.find("taskIds")) {
    auto ids = read_ids(body);
    if (!ids) return fail(ids.error());
    if (ids->empty()) return invalid("'taskIds' is empty; leave it out to " + action + " all that match");
    input.ids = std::move(*ids);
  }
  if (const auto set = body.find("set")) {
    if (input.action != BulkInput::Action::kDuplicate)
      return invalid("'set' is for copies: it goes with duplicate only");
    auto changes = read_changes(*set);
    if (!changes) return fail(changes.error());
    input.changes = std::move(*changes);
  }
  return input;
}

}  // namespace freshet::tasks
