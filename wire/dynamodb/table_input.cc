#include "wire/dynamodb/table_input.h"

#include "base/limits.h"

namespace freshet::dynamodb {

namespace {

// What a key element may be, by its place.
void check_role(const Input& in, size_t place, const std::string& kind, bool composite, bool after_range) {
  const auto refuse = [&](std::string text) { in.checks().add({ErrorCode::kValidation, std::move(text), nullptr}); };
  if (place == 0 && kind == "RANGE") {
    refuse("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  } else if (place == 1 && kind == "HASH" && !composite) {
    refuse("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
  } else if (composite && kind == "HASH" && after_range) {
    refuse("Invalid KeySchema: HASH key types must come before RANGE key types");
  }
}

// The keys of a table or index by the attributes' types. Notes which attributes are used. With `composite` there may be
// several attributes of each kind.
KeySchema read_keys(const Input& in, const AttributeTypes& types, std::set<std::string>& used, bool composite) {
  KeySchema keys;
  const auto most = static_cast<int64_t>(composite ? 2 * limits::kMaxKeyPartAttributes : 2);
  const std::vector<Input> elements = in.list("KeySchema", Need::kRequired, {1, most});
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string name = elements[i].text("AttributeName", Need::kRequired, {1, 255});
    const std::string kind = elements[i].choice("KeyType", {"HASH", "RANGE"}, Need::kRequired);
    check_role(in, i, kind, composite, keys.sort.has_value());
    const auto type = types.find(name);
    if (type == types.end()) {
      std::string defined;
      for (const auto& [attribute, unused] : types) defined += (defined.empty() ? "" : ", ") + attribute;
      in.checks().add({ErrorCode::kValidation,
                       "One or more parameter values were invalid: Some index key attributes are not defined in "
                       "AttributeDefinitions. Keys: [" +
                           name + "], AttributeDefinitions: [" + defined + "]",
                       nullptr});
      continue;
    }
    used.insert(name);
    KeyAttribute& key = i == 0           ? keys.partition
                        : kind == "HASH" ? keys.more_partition.emplace_back()
                        : keys.sort      ? keys.more_sort.emplace_back()
                                         : keys.sort.emplace();
    key = {name, type->second};
  }
  return keys;
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
  for (const Input& index : indexes) {
    table.indexes.push_back(read_index(index, local, types, used));
    const auto throughput = local ? std::nullopt : read_throughput(index);
    if (throughput) table.settings.index_throughput[table.indexes.back().name] = *throughput;
  }
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

// Capacity is not metered: the figures are checked as the service does, and shown.
void read_billing(const Input& in, TableDefinition& table) {
  const std::string mode = in.choice("BillingMode", {"PROVISIONED", "PAY_PER_REQUEST"});
  table.settings.throughput = read_throughput(in);
  if (mode == "PAY_PER_REQUEST" && table.settings.throughput) {
    refuse_parameter(in,
                     "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
                     "PAY_PER_REQUEST");
  } else if (mode != "PAY_PER_REQUEST" && !in.has("ProvisionedThroughput")) {
    refuse_parameter(in,
                     "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED");
  }
}

}  // namespace

AttributeTypes read_attributes(const Input& in, Need need) {
  AttributeTypes types;
  for (const Input& attribute : in.list("AttributeDefinitions", need)) {
    const std::string name = attribute.text("AttributeName", Need::kRequired, {1, 255});
    const std::string type = attribute.choice("AttributeType", {"B", "N", "S"}, Need::kRequired);
    types[name] = type == "N" ? Type::kNumber : type == "B" ? Type::kBinary : Type::kString;
  }
  return types;
}

IndexDefinition read_index(const Input& in, bool local, const AttributeTypes& types, std::set<std::string>& used) {
  IndexDefinition index;
  index.local = local;
  index.name = in.pattern_text("IndexName", Need::kRequired, {3, 255});
  index.keys = read_keys(in, types, used, !local);
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

std::optional<Throughput> read_throughput(const Input& in, std::string_view member) {
  const auto structure = in.structure(member);
  if (!structure) return std::nullopt;
  const auto units = [&](std::string_view name) {
    if (!structure->has(name)) in.checks().violated(std::nullopt, structure->path_of(name), "not be null");
    return structure->number(name, {1, INT64_MAX}).value_or(0);
  };
  Throughput throughput;
  throughput.read = units("ReadCapacityUnits");
  throughput.write = units("WriteCapacityUnits");
  return throughput;
}

std::optional<StreamChange> read_stream(const Input& in) {
  const auto stream = in.structure("StreamSpecification");
  if (!stream) return std::nullopt;
  const std::string view =
      stream->choice("StreamViewType", {"KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE"});
  if (!stream->has("StreamEnabled"))
    in.checks().violated(std::nullopt, stream->path_of("StreamEnabled"), "not be null");
  if (!stream->flag("StreamEnabled")) {
    if (!view.empty()) refuse_parameter(in, "StreamViewType is specified although StreamEnabled is false");
    return StreamChange{};
  }
  if (view.empty()) refuse_parameter(in, "StreamViewType is required when StreamEnabled is true");
  return StreamChange{true, view == "KEYS_ONLY"   ? StreamView::kKeysOnly
                            : view == "NEW_IMAGE" ? StreamView::kNewImage
                            : view == "OLD_IMAGE" ? StreamView::kOldImage
                                                  : StreamView::kNewAndOldImages};
}

std::map<std::string, std::string> read_tags(const Input& in, Need need) {
  std::map<std::string, std::string> tags;
  for (const Input& tag : in.list("Tags", need)) {
    std::string key = tag.text("Key", Need::kRequired, {1, 128});
    std::string value = tag.text("Value", Need::kRequired, {0, 256});
    if (!tags.emplace(std::move(key), std::move(value)).second) {
      refuse_parameter(in, "Duplicate tag keys in request");
    }
  }
  return tags;
}

std::string read_table_class(const Input& in) {
  const std::string value = in.choice("TableClass", {"STANDARD", "STANDARD_INFREQUENT_ACCESS"});
  return value == "STANDARD" ? std::string() : value;
}

void refuse_system_name(const Input& in) {
  in.checks().add({ErrorCode::kValidation,
                   "Table names that start with '" + std::string(kSystemTablePrefix) + "' are reserved", nullptr});
}

TableDefinition read_definition(const Input& in) {
  TableDefinition table;
  table.name = in.table();
  if (is_system_table(table.name)) refuse_system_name(in);
  const AttributeTypes types = read_attributes(in, Need::kRequired);
  std::set<std::string> used;
  table.keys = read_keys(in, types, used, false);
  read_indexes(in, "LocalSecondaryIndexes", true, types, used, table);
  read_indexes(in, "GlobalSecondaryIndexes", false, types, used, table);
  check_used(in, types, used, !table.indexes.empty());
  read_billing(in, table);
  if (const auto stream = read_stream(in); stream && stream->enabled) table.stream = stream->view;
  table.settings.deletion_protection = in.flag("DeletionProtectionEnabled");
  table.settings.table_class = read_table_class(in);
  table.settings.tags = read_tags(in, Need::kOptional);
  if (table.settings.tags.size() > kMaxTags) refuse_parameter(in, "A table can have at most 50 tags");
  in.refuse({"ResourcePolicy"});
  return table;
}

}  // namespace freshet::dynamodb
