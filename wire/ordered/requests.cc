#include "wire/ordered/requests.h"

#include <utility>

#include "base/limits.h"
#include "runtime/api/json_members.h"
#include "tables/value/json.h"

namespace freshet::ordered {
namespace {

constexpr uint32_t kMostItems = 1000;  // Looked at for one page.

template <class T>
void give(Answer& answer, T value) {
  answer.what = std::move(value);
}
template <class T>
void give(Answer& answer, Result<T> value) {
  if (value) {
    answer.what = std::move(*value);
  } else {
    answer.what = std::move(value.error());
  }
}

template <class T>
Async<void> fill(Async<T> work, Answer& answer, bool typed) {
  answer.typed = typed;
  give(answer, co_await work);
}

// The call of a method with its input, once it has been read without an error.
template <class T, class Input>
Asked asked(const JsonMembers& members, Input input, bool typed, Async<T> (OrderedWrites::*method)(Input)) {
  return {members.error(), [input = std::move(input), typed, method](OrderedWrites& table, Answer& answer) {
            return fill((table.*method)(input), answer, typed);
          }};
}

bool read_typed(JsonMembers& members) {
  bool typed = false;
  members.boolean("typed", typed);
  return typed;
}

// An item, a key or values of an expression.
void read_map(JsonMembers& members, const JsonView& json, bool typed, Map& into) {
  if (typed) {
    auto item = item_of(json);
    if (!item) return members.fail_with(item.error());
    into = std::move(*item);
    return;
  }
  auto value = plain_value_of(json);
  if (!value) return members.fail_with(value.error());
  auto* map = value->get_if<Map>();
  if (map == nullptr) return members.refuse(json, "must be an object");
  into = std::move(*map);
}

void read_map(JsonMembers& members, const JsonView& body, std::string_view name, bool typed, Map& into) {
  const auto json = members.find(name);
  if (json) return read_map(members, *json, typed, into);
  members.refuse(body, "needs '" + std::string(name) + "'");
}

std::optional<Value> read_timestamp(JsonMembers& members) {
  if (!members.find("timestamp")) return {};
  Value value;
  members.value("timestamp", value);
  return value;
}

template <class Use>
void for_each_text(JsonMembers& members, std::string_view name, Use use) {
  const auto json = members.find(name);
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return members.refuse(*json, "must be an array of names");
  for (const JsonView one : *json) {
    const auto text = text_in(one);
    if (!text) return members.fail_with(text.error());
    use(*text);
  }
}

Asked read_put(const JsonView& body) {
  JsonMembers members(body, {"item", "timestamp", "typed"});
  const bool typed = read_typed(members);
  OrderedPut input;
  read_map(members, body, "item", typed, input.item);
  input.timestamp = read_timestamp(members);
  return asked(members, std::move(input), typed, &OrderedWrites::put);
}

Asked read_delete(const JsonView& body) {
  JsonMembers members(body, {"key", "timestamp", "typed"});
  const bool typed = read_typed(members);
  OrderedDelete input;
  read_map(members, body, "key", typed, input.key);
  input.timestamp = read_timestamp(members);
  return asked(members, std::move(input), typed, &OrderedWrites::erase);
}

Asked read_update(const JsonView& body) {
  JsonMembers members(body, {"key", "set", "remove", "timestamp", "typed"});
  const bool typed = read_typed(members);
  OrderedUpdate input;
  read_map(members, body, "key", typed, input.key);
  if (const auto set = members.find("set")) read_map(members, *set, typed, input.set);
  for_each_text(members, "remove", [&](std::string_view name) { input.remove.emplace_back(name); });
  input.timestamp = read_timestamp(members);
  return asked(members, std::move(input), typed, &OrderedWrites::update);
}

Asked read_get(const JsonView& body) {
  JsonMembers members(body, {"key", "tombstones", "typed"});
  const bool typed = read_typed(members);
  OrderedGet input;
  read_map(members, body, "key", typed, input.key);
  members.boolean("tombstones", input.tombstones);
  return asked(members, std::move(input), typed, &OrderedWrites::get);
}

Asked read_batch_get(const JsonView& body) {
  JsonMembers members(body, {"keys", "tombstones", "typed"});
  const bool typed = read_typed(members);
  bool tombstones = false;
  members.boolean("tombstones", tombstones);
  std::vector<OrderedGet> inputs;
  const auto keys = members.find("keys");
  if (!keys || !keys->is(JsonKind::kArray) || keys->size() == 0 || keys->size() > limits::kMaxBatchGets) {
    members.refuse(body, "needs 'keys', an array of 1 to " + std::to_string(limits::kMaxBatchGets) + " keys");
    return {members.error(), {}};
  }
  for (const JsonView key : *keys) {
    inputs.emplace_back();
    read_map(members, key, typed, inputs.back().key);
    inputs.back().tombstones = tombstones;
  }
  return asked(members, std::move(inputs), typed, &OrderedWrites::batch_get);
}

// Members that queries and scans have.
template <class Input>
void read_page(JsonMembers& members, bool typed, Input& input) {
  members.text("index", input.index);
  members.text("filter", input.filter);
  members.text("projection", input.projection);
  input.limit = kMostItems;
  members.integer("limit", 1, kMostItems, input.limit);
  members.boolean("countOnly", input.count_only);
  if (const auto names = members.find("names")) {
    if (!names->is(JsonKind::kObject)) return members.refuse(*names, "must be an object");
    for (const JsonView one : *names) {
      const auto name = text_in(one);
      if (!name) return members.fail_with(name.error());
      input.placeholders.names.emplace_back(one.name(), *name);
    }
  }
  if (const auto values = members.find("values")) read_map(members, *values, typed, input.placeholders.values);
  input.consistent = input.index.empty();
  const auto cursor = members.find("cursor");
  if (!cursor) return;
  const auto text = text_in(*cursor);
  if (!text) return members.fail_with(text.error());
  auto key = parse_item_json(*text);
  if (!key)
    return members.refuse(
        *cursor,
        "is none that a page ended with: repeat the one in the answer before unchanged, or leave it out for the "
        "first page");
  input.exclusive_start_key = std::move(*key);
}

Asked read_query(const JsonView& body) {
  JsonMembers members(body, {"partition", "keyCondition", "forward", "index", "filter", "projection", "limit",
                             "countOnly", "names", "values", "cursor", "tombstones", "typed"});
  const bool typed = read_typed(members);
  OrderedQuery input;
  read_page(members, typed, input.query);
  members.text("keyCondition", input.query.key_condition);
  members.boolean("forward", input.query.forward);
  members.boolean("tombstones", input.tombstones);
  if (const auto partition = members.find("partition")) {
    auto value = typed ? attribute_of(*partition) : plain_value_of(*partition);
    if (value) {
      input.partition = std::move(*value);
    } else {
      members.fail_with(value.error());
    }
  } else if (!members.find("keyCondition")) {
    members.refuse(body, "needs 'partition' or 'keyCondition'");
  }
  return asked(members, std::move(input), typed, &OrderedWrites::query);
}

Asked read_scan(const JsonView& body) {
  JsonMembers members(body, {"segment", "totalSegments", "index", "filter", "projection", "limit", "countOnly", "names",
                             "values", "cursor", "tombstones", "typed"});
  const bool typed = read_typed(members);
  OrderedScan input;
  read_page(members, typed, input.scan);
  members.integer("segment", 0, 999'999, input.scan.segment);
  members.integer("totalSegments", 1, 1'000'000, input.scan.total_segments);
  members.boolean("tombstones", input.tombstones);
  return asked(members, std::move(input), typed, &OrderedWrites::scan);
}

}  // namespace

Asked read_request(ApiCall call, const JsonView& body) {
  switch (call) {
    case ApiCall::kOrderedPut:
      return read_put(body);
    case ApiCall::kOrderedDelete:
      return read_delete(body);
    case ApiCall::kOrderedUpdate:
      return read_update(body);
    case ApiCall::kOrderedGet:
      return read_get(body);
    case ApiCall::kOrderedBatchGet:
      return read_batch_get(body);
    case ApiCall::kOrderedQuery:
      return read_query(body);
    case ApiCall::kOrderedScan:
      return read_scan(body);
    default:
      return {not_implemented(call), {}};
  }
}

}  // namespace freshet::ordered
