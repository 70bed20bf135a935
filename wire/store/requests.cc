#include "wire/store/requests.h"

#include <string_view>
#include <variant>

#include "tables/value/json.h"
#include "wire/dynamodb/table_json.h"
#include "wire/store/json_writer.h"

namespace freshet::remote {

namespace {

void append_placeholders(JsonWriter& json, const Placeholders& placeholders) {
  if (!placeholders.names.empty()) {
    JsonWriter names(json.member("ExpressionAttributeNames"));
    for (const auto& [placeholder, name] : placeholders.names) append_json_string(names.member(placeholder), name);
  }
  json.item("ExpressionAttributeValues", placeholders.values);
}

std::string_view name_of(ReturnValues values) {
  switch (values) {
    case ReturnValues::kNone:
      return {};
    case ReturnValues::kAllOld:
      return "ALL_OLD";
    case ReturnValues::kUpdatedOld:
      return "UPDATED_OLD";
    case ReturnValues::kAllNew:
      return "ALL_NEW";
    case ReturnValues::kUpdatedNew:
      return "UPDATED_NEW";
  }
  return {};
}

template <class Input>
void append_condition(JsonWriter& json, const Input& input) {
  json.text("ConditionExpression", input.condition);
  append_placeholders(json, input.placeholders);
  if (input.return_item_on_failure) json.text("ReturnValuesOnConditionCheckFailure", "ALL_OLD");
}

// The members that a write has alone and within a transaction.
void append_write(JsonWriter& json, const PutItemInput& input) {
  json.text("TableName", input.table);
  append_item_json(json.member("Item"), input.item);
  append_condition(json, input);
}

void append_write(JsonWriter& json, const UpdateItemInput& input) {
  json.text("TableName", input.table);
  append_item_json(json.member("Key"), input.key);
  json.text("UpdateExpression", input.update);
  append_condition(json, input);
}

void append_write(JsonWriter& json, const DeleteItemInput& input) {
  json.text("TableName", input.table);
  append_item_json(json.member("Key"), input.key);
  append_condition(json, input);
}

void append_write(JsonWriter& json, const ConditionCheckInput& input) {
  json.text("TableName", input.table);
  append_item_json(json.member("Key"), input.key);
  append_condition(json, input);
}

// Empty: billed by request.
std::optional<Throughput> units_of(const TableDefinition& table, const IndexDefinition& index) {
  const auto own = table.settings.index_throughput.find(index.name);
  return own == table.settings.index_throughput.end() ? table.settings.throughput : own->second;
}

void append_units(JsonWriter& json, const Throughput& units) {
  JsonWriter throughput(json.member("ProvisionedThroughput"));
  throughput.number("ReadCapacityUnits", static_cast<uint64_t>(units.read));
  throughput.number("WriteCapacityUnits", static_cast<uint64_t>(units.write));
}

void append_provisioned(JsonWriter& json, const TableDefinition& now, const TableDefinition& wanted) {
  if (now.settings.throughput != wanted.settings.throughput) append_units(json, *wanted.settings.throughput);
  std::string indexes;
  for (const IndexDefinition& index : now.indexes) {
    const auto units = units_of(wanted, index);
    if (wanted.index(index.name) == nullptr || index.local || units == units_of(now, index)) continue;
    if (!indexes.empty()) indexes += ',';
    JsonWriter change(indexes);
    JsonWriter update(change.member("Update"));
    update.text("IndexName", index.name);
    append_units(update, *units);
  }
  if (!indexes.empty()) json.member("GlobalSecondaryIndexUpdates") += '[' + indexes + ']';
}

std::string_view action_of(const WriteInput& input) {
  constexpr std::string_view kNames[] = {"Put", "Update", "Delete", "ConditionCheck"};
  return kNames[input.index()];
}

template <class Input>
std::string write_request(const Input& input) {
  std::string out;
  {
    JsonWriter json(out);
    append_write(json, input);
    json.text("ReturnValues", name_of(input.return_values));
  }
  return out;
}

// The members that Query and Scan have in common.
template <class Input>
void append_reading(JsonWriter& json, const Input& input) {
  json.text("TableName", input.table);
  json.text("IndexName", input.index);
  json.text("FilterExpression", input.filter);
  json.text("ProjectionExpression", input.projection);
  append_placeholders(json, input.placeholders);
  json.number("Limit", input.limit);
  json.item("ExclusiveStartKey", input.exclusive_start_key);
  json.flag("ConsistentRead", input.consistent);
  if (input.count_only) {
    json.text("Select", "COUNT");
  } else if (input.all_attributes) {
    json.text("Select", "ALL_ATTRIBUTES");
  }
}

void append_get(JsonWriter& json, const GetItemInput& input) {
  json.text("TableName", input.table);
  append_item_json(json.member("Key"), input.key);
  json.text("ProjectionExpression", input.projection);
  append_placeholders(json, input.placeholders);
}

// Appends "[...]" of objects; `each(object, element)` fills one.
template <class List, class Each>
void append_list(std::string& out, const List& list, const Each& each) {
  out += '[';
  bool first = true;
  for (const auto& element : list) {
    if (!first) out += ',';
    first = false;
    JsonWriter object(out);
    each(object, element);
  }
  out += ']';
}

}  // namespace

std::string request_of(const PutItemInput& input) {
  return write_request(input);
}

std::string request_of(const UpdateItemInput& input) {
  return write_request(input);
}

std::string request_of(const DeleteItemInput& input) {
  return write_request(input);
}

std::string request_of(const GetItemInput& input) {
  std::string out;
  {
    JsonWriter json(out);
    append_get(json, input);
    json.flag("ConsistentRead", input.consistent);
  }
  return out;
}

std::string request_of(const QueryInput& input) {
  std::string out;
  {
    JsonWriter json(out);
    append_reading(json, input);
    json.text("KeyConditionExpression", input.key_condition);
    if (!input.forward) json.member("ScanIndexForward") += "false";
  }
  return out;
}

std::string request_of(const ScanInput& input) {
  std::string out;
  {
    JsonWriter json(out);
    append_reading(json, input);
    if (input.total_segments > 1) {
      json.member("Segment") += std::to_string(input.segment);
      json.number("TotalSegments", input.total_segments);
    }
  }
  return out;
}

std::string request_of(const TransactWriteInput& input) {
  std::string out;
  {
    JsonWriter json(out);
    append_list(json.member("TransactItems"), input.actions, [](JsonWriter& object, const WriteInput& action) {
      JsonWriter write(object.member(action_of(action)));
      std::visit([&](const auto& one) { append_write(write, one); }, action);
    });
    json.text("ClientRequestToken", input.token);
  }
  return out;
}

std::string request_of(const std::vector<GetItemInput>& transaction) {
  std::string out;
  {
    JsonWriter json(out);
    append_list(json.member("TransactItems"), transaction, [](JsonWriter& object, const GetItemInput& input) {
      JsonWriter get(object.member("Get"));
      append_get(get, input);
    });
  }
  return out;
}

std::string batch_get_request(const GetItemInput& like, std::span<const Item> keys) {
  std::string out;
  {
    JsonWriter json(out);
    JsonWriter tables(json.member("RequestItems"));
    JsonWriter table(tables.member(like.table));
    std::string& list = table.member("Keys");
    list += '[';
    for (const Item& key : keys) {
      if (!list.ends_with('[')) list += ',';
      append_item_json(list, key);
    }
    list += ']';
    table.text("ProjectionExpression", like.projection);
    append_placeholders(table, like.placeholders);
    table.flag("ConsistentRead", like.consistent);
  }
  return out;
}

std::string create_request(const TableDefinition& definition) {
  std::string out;
  dynamodb::append_asked_definition(out, definition);
  if (definition.settings.tags.empty()) return out;
  out.pop_back();
  out += ",\"Tags\":[";
  for (const auto& [key, value] : definition.settings.tags) {
    if (!out.ends_with('[')) out += ',';
    JsonWriter tag(out);
    tag.text("Key", key);
    append_json_string(tag.member("Value"), value);
  }
  out += "]}";
  return out;
}

std::string table_request(const std::string& table) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", table);
  }
  return out;
}

std::string list_request(const std::string& after) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("ExclusiveStartTableName", after);
  }
  return out;
}

std::string ttl_request(const std::string& table, const std::string& attribute, bool enabled) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", table);
    JsonWriter specification(json.member("TimeToLiveSpecification"));
    specification.text("AttributeName", attribute);
    specification.member("Enabled") += enabled ? "true" : "false";
  }
  return out;
}

std::string stream_request(const std::string& table, std::optional<StreamView> view) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", table);
    JsonWriter specification(json.member("StreamSpecification"));
    specification.member("StreamEnabled") += view ? "true" : "false";
    if (view) specification.text("StreamViewType", stream_view_name(*view));
  }
  return out;
}

std::string throughput_request(const TableDefinition& now, const TableDefinition& wanted) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", wanted.name);
    json.text("BillingMode", wanted.settings.throughput ? "PROVISIONED" : "PAY_PER_REQUEST");
    if (wanted.settings.throughput) append_provisioned(json, now, wanted);
  }
  return out;
}

std::string class_request(const TableDefinition& wanted) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", wanted.name);
    json.text("TableClass", wanted.settings.table_class.empty() ? "STANDARD" : wanted.settings.table_class);
  }
  return out;
}

std::string protection_request(const TableDefinition& wanted) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", wanted.name);
    json.member("DeletionProtectionEnabled") += wanted.settings.deletion_protection ? "true" : "false";
  }
  return out;
}

std::string add_index_request(const TableDefinition& definition, const IndexDefinition& index) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", definition.name);
    dynamodb::append_attribute_definitions(out, definition);
    std::string& updates = json.member("GlobalSecondaryIndexUpdates");
    updates += "[{\"Create\":";
    dynamodb::append_asked_index(updates, definition, index);
    updates += "}]";
  }
  return out;
}

std::string drop_index_request(const std::string& table, const std::string& index) {
  std::string out;
  {
    JsonWriter json(out);
    json.text("TableName", table);
    std::string& updates = json.member("GlobalSecondaryIndexUpdates");
    updates += "[{\"Delete\":{\"IndexName\":";
    append_json_string(updates, index);
    updates += "}}]";
  }
  return out;
}

}  // namespace freshet::remote
