#include "wire/dynamodb/table_input.h"

#include <algorithm>

#include "base/limits.h"

namespace freshet::dynamodb {

namespace {

constexpr int64_t kMostUnits = 1'000'000'000'000;

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// The owner of the keys (a table or an index), and if each kind may have several attributes.
struct Keys {
  bool of_table = false;
  bool composite = false;
};

bool is_hash_behind_range(const std::vector<std::string>& kinds) {
  const auto range = std::find(kinds.begin(), kinds.end(), "RANGE");
  return std::find(range, kinds.end(), "HASH") != kinds.end();
}

// The first name that occurs twice; "" if there is none.
std::string repeated_name(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) return name;
  }
  return {};
}

// The fault of a key schema that the service would report first; "" if there is none.
std::string key_schema_fault(const std::vector<std::string>& names, const std::vector<std::string>& kinds,
                             const AttributeTypes& types, Keys of) {
  std::vector<std::string> defined;
  for (const auto& [attribute, type] : types) defined.push_back(attribute);
  if (of.of_table && names.size() > types.size())
    return "Invalid KeySchema: Some index key attribute have no definition";
  if (!std::all_of(names.begin(), names.end(), [&](const auto& name) { return types.contains(name); })) {
    return "One or more parameter values were invalid: Some index key attributes are not defined in "
           "AttributeDefinitions. Keys: [" +
           joined(names) + "], AttributeDefinitions: [" + joined(defined) + "]";
  }
  if (names.size() == 2 && names[0] == names[1] && kinds[1] == "RANGE") {
    return "Both the Hash Key and the Range Key element in the KeySchema have the same name";
  }
  if (!kinds.empty() && kinds[0] != "HASH") {
    return "Invalid KeySchema: The first KeySchemaElement is not a HASH key type";
  }
  if (!of.composite && kinds.size() == 2 && kinds[1] != "RANGE") {
    return "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type";
  }
  if (is_hash_behind_range(kinds)) {
    return "Invalid KeySchema: HASH key attributes must precede RANGE key attributes";
  }
  return {};
}

// The elements as messages show them.
std::string shown_keys(const std::vector<std::string>& names, const std::vector<std::string>& kinds) {
  std::string out = "[";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ", ";
    out += "KeySchemaElement(attributeName=" + names[i] + ", keyType=" + kinds[i] + ")";
  }
  return out + "]";
}

// The keys of a table or index by the attributes' types. Notes which attributes are used.
KeySchema read_keys(const Input& in, const AttributeTypes& types, Keys of, std::set<std::string>& used) {
  std::vector<std::string> names;
  std::vector<std::string> kinds;
  const auto most = static_cast<int64_t>(of.composite ? 2 * limits::kMaxKeyPartAttributes : 2);
  for (const Input& element : in.list("KeySchema", Need::kRequired, {1, INT64_MAX})) {
    names.push_back(element.text("AttributeName", Need::kRequired, {1, 255}));
    kinds.push_back(element.choice("KeyType", {"HASH", "RANGE"}, Need::kRequired));
  }
  if (static_cast<int64_t>(names.size()) > most) {
    in.checks().violated(shown_keys(names, kinds), in.path_of("KeySchema"),
                         "have length less than or equal to " + std::to_string(most));
  }
  KeySchema keys;
  const std::string fault = key_schema_fault(names, kinds, types, of);
  if (!fault.empty()) in.checks().add({ErrorCode::kValidation, fault, nullptr});
  if (!fault.empty() || names.empty()) return keys;
  used.insert(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    KeyAttribute& key = i == 0               ? keys.partition
                        : kinds[i] == "HASH" ? keys.more_partition.emplace_back()
                        : keys.sort          ? keys.more_sort.emplace_back()
                                             : keys.sort.emplace();
    key = {names[i], types.at(names[i])};
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

// Local indexes come before global ones; faults of the global ones are reported first.
void read_all_indexes(const Input& in, const AttributeTypes& types, std::set<std::string>& used,
                      TableDefinition& table) {
  read_indexes(in, "GlobalSecondaryIndexes", false, types, used, table);
  const size_t globals = table.indexes.size();
  read_indexes(in, "LocalSecondaryIndexes", true, types, used, table);
  std::rotate(table.indexes.begin(), table.indexes.begin() + static_cast<ptrdiff_t>(globals), table.indexes.end());
}

void check_used(const Input& in, const AttributeTypes& types, const std::set<std::string>& used, bool indexes) {
  if (types.size() == used.size() && (indexes || in.list("AttributeDefinitions").size() == used.size())) return;
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

// Zeros stand for a table that is billed by request.
std::optional<Throughput> shown_throughput(const Input& in) {
  const auto units = in.structure("ProvisionedThroughput");
  if (!units) return std::nullopt;
  const Throughput shown{units->number("ReadCapacityUnits").value_or(0),
                         units->number("WriteCapacityUnits").value_or(0)};
  return shown == Throughput{} ? std::nullopt : std::optional(shown);
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
  for (const IndexDefinition& index : table.indexes) {
    const bool given = table.settings.index_throughput.contains(index.name);
    if (!index.local && given && mode == "PAY_PER_REQUEST") {
      refuse_parameter(in, "ProvisionedThroughput should not be specified for index: " + index.name +
                               " when BillingMode is PAY_PER_REQUEST");
    } else if (!index.local && !given && mode != "PAY_PER_REQUEST") {
      refuse_parameter(in, "ProvisionedThroughput is not specified for index: " + index.name);
    }
  }
}

}  // namespace

AttributeTypes read_attributes(const Input& in, Need need) {
  AttributeTypes types;
  for (const Input& attribute : in.list("AttributeDefinitions", need)) {
    const std::string name = attribute.text("AttributeName", Need::kRequired, {1, 255});
    const std::string type = attribute.choice("AttributeType", {"B", "N", "S"}, Need::kRequired);
    const Type key_type = type == "N" ? Type::kNumber : type == "B" ? Type::kBinary : Type::kString;
    if (types.emplace(name, key_type).first->second != key_type) {
      refuse_parameter(in, "Duplicate AttributeName with another AttributeType in AttributeDefinitions: " + name);
    }
  }
  return types;
}

IndexDefinition read_index(const Input& in, bool local, const AttributeTypes& types, std::set<std::string>& used) {
  IndexDefinition index;
  index.local = local;
  index.name = in.pattern_text("IndexName", Need::kRequired, {3, 255});
  index.keys = read_keys(in, types, Keys{false, !local}, used);
  if (const auto projection = in.structure("Projection", Need::kRequired)) {
    const std::string kind = projection->choice("ProjectionType", {"ALL", "INCLUDE", "KEYS_ONLY"});
    index.projection = kind == "INCLUDE"     ? Projection::kInclude
                       : kind == "KEYS_ONLY" ? Projection::kKeysOnly
                                             : Projection::kAll;
    index.included = projection->texts("NonKeyAttributes", {1, 20});
    if (const std::string name = repeated_name(index.included); !name.empty()) {
      refuse_parameter(in, "Duplicate name in NonKeyAttributes: " + name);
    }
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
    const int64_t asked = structure->number(name, {1, INT64_MAX}).value_or(0);
    if (asked > kMostUnits) {
      in.checks().add({ErrorCode::kValidation,
                       "Given value " + std::to_string(asked) + " for " + std::string(name) + " is out of bounds",
                       nullptr});
    }
    return asked;
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
    if (!view.empty()) {
      refuse_parameter(in, "Table is being created with a stream disabled, UpdateViewType should not be specified");
    }
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
    std::string key = tag.tag_text("Key", {1, 128});
    std::string value = tag.tag_text("Value", {0, 256});
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

void check_accepted(const Input& in) {
  if (const auto specification = in.structure("SSESpecification")) {
    specification->flag("Enabled");
    specification->choice("SSEType", {"AES256", "KMS"});
    specification->text("KMSMasterKeyId");
  }
  constexpr Range kUnits{-1, INT64_MAX};  // -1 for no limit.
  if (const auto throughput = in.structure("OnDemandThroughput")) {
    throughput->number("MaxReadRequestUnits", kUnits);
    throughput->number("MaxWriteRequestUnits", kUnits);
  }
  if (const auto throughput = in.structure("WarmThroughput")) {
    throughput->number("ReadUnitsPerSecond", {1, INT64_MAX});
    throughput->number("WriteUnitsPerSecond", {1, INT64_MAX});
  }
}

TableDefinition read_definition(const Input& in) {
  TableDefinition table;
  table.name = in.managed_table();
  if (is_system_table(table.name)) refuse_system_name(in);
  const AttributeTypes types = read_attributes(in, Need::kRequired);
  std::set<std::string> used;
  table.keys = read_keys(in, types, Keys{true, false}, used);
  read_all_indexes(in, types, used, table);
  check_used(in, types, used, !table.indexes.empty());
  read_billing(in, table);
  if (const auto stream = read_stream(in); stream && stream->enabled) table.stream = stream->view;
  check_accepted(in);
  table.settings.deletion_protection = in.flag("DeletionProtectionEnabled");
  table.settings.table_class = read_table_class(in);
  table.settings.tags = read_tags(in, Need::kOptional);
  if (table.settings.tags.size() > kMaxTags) refuse_parameter(in, "A table can have at most 50 tags");
  in.refuse({"ResourcePolicy", "GlobalTableSourceArn", "GlobalTableSettingsReplicationMode"});
  return table;
}

TableDefinition read_described(const Input& in) {
  TableDefinition table;
  table.name = in.text("TableName", Need::kRequired);
  const AttributeTypes types = read_attributes(in, Need::kRequired);
  std::set<std::string> used;
  table.keys = read_keys(in, types, Keys{true, false}, used);
  table.settings.throughput = shown_throughput(in);
  for (const bool local : {true, false}) {
    for (const Input& index : in.list(local ? "LocalSecondaryIndexes" : "GlobalSecondaryIndexes")) {
      table.indexes.push_back(read_index(index, local, types, used));
      const auto throughput = shown_throughput(index);
      if (throughput) table.settings.index_throughput[table.indexes.back().name] = *throughput;
    }
  }
  if (const auto stream = read_stream(in); stream && stream->enabled) table.stream = stream->view;
  if (const auto summary = in.structure("TableClassSummary")) table.settings.table_class = read_table_class(*summary);
  table.settings.deletion_protection = in.flag("DeletionProtectionEnabled");
  return table;
}

}  // namespace freshet::dynamodb
