#include "functions/filtered/actions.h"

#include "base/limits.h"

namespace freshet::filtered {
namespace {

const Value kOne = Value::number(1);
const Value kMinusOne = Value::number(-1);
const Value kZero = Value::number(0);

}  // namespace

template <class Input>
void Actions::add(Input input) {
  input.cause = Cause::kQueue;
  transaction_.actions.emplace_back(std::move(input));
}

// An entry or request, if it is not there.
void Actions::put_new(Item item) {
  PutItemInput put;
  put.table = settings_.table;
  put.item = std::move(item);
  put.condition = "attribute_not_exists(#pk)";
  put.placeholders.names = {{"#pk", settings_.names.partition}};
  add(std::move(put));
}

// An entry, if it exists and belongs to that member.
void Actions::drop_entry(Item key, const std::string& member) {
  DeleteItemInput entry;
  entry.table = settings_.table;
  entry.key = std::move(key);
  entry.condition = "#id = :id";
  entry.placeholders.names = {{"#id", settings_.names.id}};
  entry.placeholders.values.set(":id", Value(member));
  add(std::move(entry));
}

UpdateItemInput Actions::queue_update(size_t queue) const {
  UpdateItemInput update;
  update.table = settings_.queues_in();
  update.key = items_.queue_key(queue);
  return update;
}

void Actions::enter(size_t queue, const std::string& at, const Item& copy, const QueueFacts& seen) {
  Item entry = copy;
  entry.set(settings_.names.partition, Value(combinations_.key(queue)));
  entry.set(settings_.names.sort, Value(at));
  put_new(std::move(entry));
  UpdateItemInput update = queue_update(queue);
  update.update = "SET #v = if_not_exists(#v, :zero) + :one ADD #d :one";
  update.placeholders.names = {
      {"#v", settings_.names.version}, {"#d", settings_.names.depth}, {"#r", settings_.names.request_version}};
  update.placeholders.values = Map{{":zero", kZero}, {":one", kOne}};
  update.condition = "attribute_not_exists(#r)";
  if (seen.request_version) {
    update.condition = "#r = :r";
    update.placeholders.values.set(":r", Value::number(*seen.request_version));
  }
  add(std::move(update));
}

void Actions::leave(size_t queue, const EntryFacts& entry, const QueueFacts* seen) {
  drop_entry(items_.entry_key(queue, entry.at), entry.id);
  UpdateItemInput update = queue_update(queue);
  update.update = "SET #v = #v + :one ADD #d :minus";
  update.placeholders.names = {{"#v", settings_.names.version}, {"#d", settings_.names.depth}};
  update.placeholders.values = Map{{":minus", kMinusOne}, {":one", kOne}};
  update.condition = "attribute_exists(#v)";
  if (seen != nullptr) {
    update.condition = "#v = :v";
    update.placeholders.values.set(":v", Value::number(seen->version));
  }
  add(std::move(update));
}

void Actions::wait(size_t queue, const std::string& at, const std::string& request, const QueueFacts& seen) {
  Item entry = items_.waiting_key(queue, at);
  entry.set(settings_.names.request, Value(request));
  put_new(std::move(entry));
  UpdateItemInput update = queue_update(queue);
  update.update = "SET #r = if_not_exists(#r, :zero) + :one ADD #n :one";
  update.condition = "#v = :v";
  update.placeholders.names = {
      {"#v", settings_.names.version}, {"#r", settings_.names.request_version}, {"#n", settings_.names.request_depth}};
  update.placeholders.values = Map{{":one", kOne}, {":v", Value::number(seen.version)}, {":zero", kZero}};
  add(std::move(update));
}

void Actions::stop_waiting(size_t queue, const std::string& at, const std::string& request) {
  DeleteItemInput entry;
  entry.table = settings_.table;
  entry.key = items_.waiting_key(queue, at);
  entry.condition = "#rq = :rq";
  entry.placeholders.names = {{"#rq", settings_.names.request}};
  entry.placeholders.values.set(":rq", Value(request));
  add(std::move(entry));
  UpdateItemInput update = queue_update(queue);
  update.update = "SET #r = #r + :one ADD #n :minus";
  update.condition = "attribute_exists(#r)";
  update.placeholders.names = {{"#r", settings_.names.request_version}, {"#n", settings_.names.request_depth}};
  update.placeholders.values = Map{{":minus", kMinusOne}, {":one", kOne}};
  add(std::move(update));
}

UpdateItemInput Actions::member_update(const std::string& id) const {
  UpdateItemInput update;
  update.table = settings_.members_in();
  update.key = items_.member_key(id);
  update.placeholders.names = {{"#s", settings_.names.status}};
  return update;
}

// A decision that was made by them holds only while they are the same.
void Actions::rely_on_attributes(UpdateItemInput& update, const FilteredMember& member) const {
  size_t i = 0;
  for (const auto& attribute : settings_.attributes) {
    const std::string n = std::to_string(i++);
    update.condition += " AND #a" + n + " = :a" + n;
    update.placeholders.names.emplace_back("#a" + n, attribute.name);
    update.placeholders.values.set(":a" + n, member.item.find(attribute.name)->decode());
  }
}

void Actions::queue_member(const FilteredMember& member, const std::string& at) {
  UpdateItemInput update = member_update(member.id);
  update.update = "SET #s = :queued, #at = :at";
  update.condition = "#s = :available";
  update.placeholders.names.emplace_back("#at", settings_.names.queued_at);
  update.placeholders.values = Map{{":at", Value(at)},
                                   {":available", Value(settings_.states.available)},
                                   {":queued", Value(settings_.states.queued)}};
  rely_on_attributes(update, member);
  add(std::move(update));
}

UpdateItemInput Actions::assignment(const std::string& id, const std::string& before, const std::string& assignment,
                                    const std::string& request) const {
  UpdateItemInput update = member_update(id);
  auto& [names, values] = update.placeholders;
  update.update = "SET #s = :assigned, #as = :as";
  update.condition = "#s = :before";
  names.emplace_back("#as", settings_.names.assignment);
  values = Map{{":as", Value(assignment)}, {":assigned", Value(settings_.states.assigned)}, {":before", Value(before)}};
  if (!request.empty()) {
    update.update += ", #rq = :rq";
    names.emplace_back("#rq", settings_.names.request);
    values.set(":rq", Value(request));
  }
  return update;
}

void Actions::assign_member(const EntryFacts& entry, const std::optional<std::string>& queued_at,
                            const std::string& assignment, const std::string& request) {
  UpdateItemInput update = this->assignment(entry.id, settings_.states.queued, assignment, request);
  update.update += " REMOVE #at";
  update.placeholders.names.emplace_back("#at", settings_.names.queued_at);
  if (queued_at && queued_at->empty()) {
    update.condition += " AND attribute_not_exists(#at)";
  } else {
    update.condition += queued_at ? " AND #at = :at" : " AND (#at = :at OR attribute_not_exists(#at))";
    update.placeholders.values.set(":at", Value(queued_at.value_or(entry.at)));
  }
  // That of an assignment which others ended is over too.
  if (request.empty()) {
    update.update += ", #rq";
    update.placeholders.names.emplace_back("#rq", settings_.names.request);
  }
  add(std::move(update));
}

void Actions::give_member(const FilteredMember& member, const std::string& assignment, const std::string& request) {
  UpdateItemInput update = this->assignment(member.id, settings_.states.available, assignment, request);
  rely_on_attributes(update, member);
  add(std::move(update));
}

void Actions::withdraw_member(const FilteredMember& member) {
  UpdateItemInput update = member_update(member.id);
  update.update = "SET #s = :available REMOVE #at";
  update.placeholders.names.emplace_back("#at", settings_.names.queued_at);
  update.placeholders.values =
      Map{{":available", Value(settings_.states.available)}, {":queued", Value(settings_.states.queued)}};
  update.condition = "#s = :queued AND attribute_not_exists(#at)";
  if (!member.queued_at.empty()) {
    update.condition = "#s = :queued AND #at = :at";
    update.placeholders.values.set(":at", Value(member.queued_at));
  }
  add(std::move(update));
}

void Actions::release_member(const FilteredMember& member) {
  UpdateItemInput update = member_update(member.id);
  update.update = "SET #s = :available REMOVE #as, #rq";
  update.placeholders.names.emplace_back("#as", settings_.names.assignment);
  update.placeholders.names.emplace_back("#rq", settings_.names.request);
  update.placeholders.values =
      Map{{":assigned", Value(settings_.states.assigned)}, {":available", Value(settings_.states.available)}};
  update.condition = "#s = :assigned AND attribute_not_exists(#as)";
  if (!member.assignment.empty()) {
    update.condition = "#s = :assigned AND #as = :as";
    update.placeholders.values.set(":as", Value(member.assignment));
  }
  add(std::move(update));
}

void Actions::put_request(const FilteredRequest& request, const Alternatives& alternatives) {
  Item item = items_.request_key(request.id);
  item.set(asked::kStatus, Value(request.status));
  item.set(asked::kAt, Value(request.asked_at));
  item.set(asked::kAlternatives, items_.alternatives(alternatives));
  if (!request.member.empty()) item.set(asked::kMember, Value(request.member));
  if (!request.assignment.empty()) item.set(settings_.names.assignment, Value(request.assignment));
  if (!request.queue.empty()) item.set(asked::kQueue, Value(request.queue));
  if (request.entry) {
    item.set(asked::kEntry, Value(request.entry.decode()));
    if (billed_size(item) > limits::kMaxItemBytes) item.erase(asked::kEntry);
  }
  put_new(std::move(item));
}

void Actions::give_request(const std::string& id, const std::string& member, const std::string& assignment) {
  UpdateItemInput update;
  update.table = settings_.table;
  update.key = items_.request_key(id);
  update.update = "SET #st = :assigned, #m = :m, #as = :as";
  update.condition = "#st = :waiting";
  update.placeholders.names = {
      {"#st", std::string(asked::kStatus)}, {"#m", std::string(asked::kMember)}, {"#as", settings_.names.assignment}};
  update.placeholders.values = Map{{":as", Value(assignment)},
                                   {":assigned", Value(asked::kAssigned)},
                                   {":m", Value(member)},
                                   {":waiting", Value(asked::kWaiting)}};
  add(std::move(update));
}

void Actions::drop_request(const std::string& id, std::string_view status) {
  DeleteItemInput drop;
  drop.table = settings_.table;
  drop.key = items_.request_key(id);
  drop.condition = "attribute_not_exists(#st) OR #st = :st";
  drop.placeholders.names = {{"#st", std::string(asked::kStatus)}};
  drop.placeholders.values.set(":st", Value(status));
  add(std::move(drop));
}

}  // namespace freshet::filtered
