#include "wire/dynamodb/table_json.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "tables/value/json.h"

namespace freshet::dynamodb {

namespace {

void append_member(std::string& json, std::string_view name, std::string_view text) {
  json += json.ends_with('{') ? "\"" : ",\"";
  json += name;
  json += "\":";
  append_json_string(json, text);
}

void append_attribute_definitions(std::string& json, const TableDefinition& table) {
  std::map<std::string, Type> types;
  const auto note = [&](const KeySchema& keys) {
    types.emplace(keys.partition.name, keys.partition.type);
    if (keys.sort) types.emplace(keys.sort->name, keys.sort->type);
  };
  note(table.keys);
  for (const IndexDefinition& index : table.indexes) note(index.keys);
  json += "\"AttributeDefinitions\":[";
  for (const auto& [name, type] : types) {
    json += json.ends_with('[') ? "{" : ",{";
    append_member(json, "AttributeName", name);
    append_member(json, "AttributeType", type_name(type));
    json += '}';
  }
  json += ']';
}

std::string_view view_name(StreamView view) {
  switch (view) {
    case StreamView::kKeysOnly:
      return "KEYS_ONLY";
    case StreamView::kNewImage:
      return "NEW_IMAGE";
    case StreamView::kOldImage:
      return "OLD_IMAGE";
    default:
      return "NEW_AND_OLD_IMAGES";
  }
}

constexpr std::string_view kNoThroughput =
    "\"ProvisionedThroughput\":{\"NumberOfDecreasesToday\":0,\"ReadCapacityUnits\":0,\"WriteCapacityUnits\":0}";

void append_index(std::string& json, const IndexDefinition& index, const std::string& table_arn) {
  json += '{';
  append_member(json, "IndexName", index.name);
  json += ',';
  append_key_schema(json, index.keys);
  json += ",\"Projection\":{";
  append_member(json, "ProjectionType",
                index.projection == Projection::kAll        ? "ALL"
                : index.projection == Projection::kKeysOnly ? "KEYS_ONLY"
                                                            : "INCLUDE");
  if (!index.included.empty()) {
    json += ",\"NonKeyAttributes\":[";
    for (const std::string& name : index.included) {
      if (!json.ends_with('[')) json += ',';
      append_json_string(json, name);
    }
    json += ']';
  }
  json += '}';
  append_member(json, "IndexArn", table_arn + "/index/" + index.name);
  if (!index.local) {
    append_member(json, "IndexStatus", "ACTIVE");
    json += ',';
    json += kNoThroughput;
  }
  json += '}';
}

void append_indexes(std::string& json, const TableDefinition& table, bool local, const std::string& table_arn) {
  bool any = false;
  for (const IndexDefinition& index : table.indexes) {
    if (index.local != local) continue;
    if (!std::exchange(any, true)) {
      json += local ? ",\"LocalSecondaryIndexes\":[" : ",\"GlobalSecondaryIndexes\":[";
    } else {
      json += ',';
    }
    append_index(json, index, table_arn);
  }
  if (any) json += ']';
}

// Epoch seconds with milliseconds, as the protocol writes times.
// Reading.

using AttributeTypes = std::map<std::string, Type>;

AttributeTypes read_attributes(const Input& in) {
  AttributeTypes types;
  for (const Input& attribute : in.list("AttributeDefinitions", Need::kRequired)) {
    const std::string name = attribute.text("AttributeName", Need::kRequired, {1, 255});
    const std::string type = attribute.choice("AttributeType", {"B", "N", "S"}, Need::kRequired);
    types[name] = type == "N" ? Type::kNumber : type == "B" ? Type::kBinary : Type::kString;
  }
  return types;
}

// The keys of a table or index by the attributes' types. Notes which attributes are used.
KeySchema read_keys(const Input& in, const AttributeTypes& types, std::set<std::string>& used) {
  KeySchema keys;
  const std::vector<Input> elements = in.list("KeySchema", Need::kRequired, {1, 2});
  const auto refuse = [&](std::string text) { in.checks().add({ErrorCode::kValidation, std::move(text), nullptr}); };
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string name = elements[i].text("AttributeName", Need::kRequired, {1, 255});
    const std::string kind = elements[i].choice("KeyType", {"HASH", "RANGE"}, Need::kRequired);
    if (i == 0 && kind == "RANGE") {
      refuse("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    } else if (i == 1 && kind == "HASH") {
      refuse("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    }
    const auto type = types.find(name);
    if (type == types.end()) {
      std::string defined;
      for (const auto& [attribute, unused] : types) defined += (defined.empty() ? "" : ", ") + attribute;
      refuse(
          "One or more parameter values were invalid: Some index key attributes are not defined in "
          "AttributeDefinitions. Keys: [" +
          name + "], AttributeDefinitions: [" + defined + "]");
      continue;
    }
    used.insert(name);
    const KeyAttribute key{name, type->second};
    if (i == 0) {
      keys.partition = key;
    } else {
      keys.sort = key;
    }
  }
  return keys;
}

IndexDefinition read_index(const Input& in, bool local, const AttributeTypes& types, std::set<std::string>& used) {
  IndexDefinition index;
  index.local = local;
  index.name = in.pattern_text("IndexName", Need::kRequired, {3, 255});
  index.keys = read_keys(in, types, used);
  if (const auto projection = in.structure("Projection", Need::kRequired)) {
    const std::string kind = projection->choice("ProjectionType", {"ALL", "INCLUDE", "KEYS_ONLY"});
    index.projection = kind == "INCLUDE"     ? Projection::kInclude
                       : kind == "KEYS_ONLY" ? Projection::kKeysOnly
                                             : Projection::kAll;
    index.included = projection->texts("NonKeyAttributes", {1, 20});
    if (kind.empty()) {
      in.checks().add(
          {ErrorCode::kValidation, "One or more parameter values were invalid: Unknown ProjectionType: null", nullptr});
    }
  }
  return index;
}

void read_indexes(const Input& in, std::string_view member, bool local, const AttributeTypes& types,
                  std::set<std::string>& used, TableDefinition& table) {
  if (!in.has(member)) return;
  const std::vector<Input> indexes = in.list(member);
  if (indexes.empty()) {
    in.checks().add({ErrorCode::kValidation,
                     "One or more parameter values were invalid: List of " + std::string(member) + " is empty",
                     nullptr});
  }
  for (const Input& index : indexes) table.indexes.push_back(read_index(index, local, types, used));
}

void check_used(const Input& in, const AttributeTypes& types, const std::set<std::string>& used, bool indexes) {
  if (types.size() == used.size()) return;
  const auto refuse = [&](std::string text) {
    in.checks().add({ErrorCode::kValidation, "One or more parameter values were invalid: " + text, nullptr});
  };
  if (!indexes) {
    return refuse(
        "Number of attributes in KeySchema does not exactly match number of attributes defined in "
        "AttributeDefinitions");
  }
  std::string defined;
  for (const auto& [name, type] : types) defined += (defined.empty() ? "" : ", ") + name;
  std::string keys;
  for (const std::string& name : used) keys += (keys.empty() ? "" : ", ") + name;
  refuse("Some AttributeDefinitions are not used. AttributeDefinitions: [" + defined + "], keys used: [" + keys + "]");
}

// Capacity is not metered: the figures are checked as the service does, and have no effect.
void check_throughput(const Input& in) {
  const std::string mode = in.choice("BillingMode", {"PROVISIONED", "PAY_PER_REQUEST"});
  const auto refuse = [&](std::string text) {
    in.checks().add({ErrorCode::kValidation, "One or more parameter values were invalid: " + text, nullptr});
  };
  if (const auto throughput = in.structure("ProvisionedThroughput")) {
    for (const std::string_view name : {"ReadCapacityUnits", "WriteCapacityUnits"}) {
      if (!throughput->has(name)) in.checks().violated(std::nullopt, throughput->path_of(name), "not be null");
      throughput->number(name, {1, INT64_MAX});
    }
    if (mode == "PAY_PER_REQUEST") {
      refuse("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST");
    }
  } else if (mode != "PAY_PER_REQUEST") {
    refuse("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED");
  }
}

std::optional<StreamView> read_stream(const Input& in) {
  const auto stream = in.structure("StreamSpecification");
  if (!stream) return std::nullopt;
  const auto refuse = [&](std::string text) {
    in.checks().add({ErrorCode::kValidation, "One or more parameter values were invalid: " + text, nullptr});
  };
  const std::string view =
      stream->choice("StreamViewType", {"KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE"});
  if (!stream->has("StreamEnabled"))
    in.checks().violated(std::nullopt, stream->path_of("StreamEnabled"), "not be null");
  if (!stream->flag("StreamEnabled")) {
    if (!view.empty()) refuse("StreamViewType is specified although StreamEnabled is false");
    return std::nullopt;
  }
  if (view.empty()) refuse("StreamViewType is required when StreamEnabled is true");
  if (view == "KEYS_ONLY") return StreamView::kKeysOnly;
  if (view == "NEW_IMAGE") return StreamView::kNewImage;
  if (view == "OLD_IMAGE") return StreamView::kOldImage;
  return StreamView::kNewAndOldImages;
}

}  // namespace

void append_key_schema(std::string& json, const KeySchema& keys) {
  json += "\"KeySchema\":[{";
  append_member(json, "AttributeName", keys.partition.name);
  json += ",\"KeyType\":\"HASH\"}";
  if (keys.sort) {
    json += ",{";
    append_member(json, "AttributeName", keys.sort->name);
    json += ",\"KeyType\":\"RANGE\"}";
  }
  json += ']';
}

std::string seconds_of(WallTime time) {
  const int64_t ms = std::max<int64_t>(0, epoch_ms(time));
  std::string fraction = std::to_string(ms % 1000);
  return std::to_string(ms / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

void append_table_json(std::string& json, const TableDescription& table, std::string_view status, const Place& place) {
  const TableDefinition& definition = table.definition;
  const std::string arn = place.table_arn(definition.name);
  json += '{';
  append_attribute_definitions(json, definition);
  append_member(json, "TableName", definition.name);
  json += ',';
  append_key_schema(json, definition.keys);
  append_member(json, "TableStatus", status);
  json += ",\"CreationDateTime\":" + seconds_of(table.created) + ",";
  json += kNoThroughput;
  json += ",\"TableSizeBytes\":" + std::to_string(table.bytes) + ",\"ItemCount\":" + std::to_string(table.items);
  append_member(json, "TableArn", arn);
  append_member(json, "TableId", table.id);
  json += ",\"BillingModeSummary\":{\"BillingMode\":\"PAY_PER_REQUEST\"}";
  append_indexes(json, definition, true, arn);
  append_indexes(json, definition, false, arn);
  if (definition.stream) {
    json += ",\"StreamSpecification\":{\"StreamEnabled\":true";
    append_member(json, "StreamViewType", view_name(*definition.stream));
    json += '}';
    append_member(json, "LatestStreamLabel", table.stream_label);
    append_member(json, "LatestStreamArn", arn + "/stream/" + table.stream_label);
  }
  json += ",\"DeletionProtectionEnabled\":false}";
}

TableDefinition read_definition(const Input& in) {
  TableDefinition table;
  table.name = in.table();
  if (is_system_table(table.name)) {
    in.checks().add({ErrorCode::kValidation,
                     "Table names that start with '" + std::string(kSystemTablePrefix) + "' are reserved", nullptr});
  }
  const AttributeTypes types = read_attributes(in);
  std::set<std::string> used;
  table.keys = read_keys(in, types, used);
  read_indexes(in, "LocalSecondaryIndexes", true, types, used, table);
  read_indexes(in, "GlobalSecondaryIndexes", false, types, used, table);
  check_used(in, types, used, !table.indexes.empty());
  check_throughput(in);
  table.stream = read_stream(in);
  if (in.flag("DeletionProtectionEnabled")) in.refuse({"DeletionProtectionEnabled"});
  in.refuse({"ResourcePolicy"});
  return table;
}

}  // namespace freshet::dynamodb
