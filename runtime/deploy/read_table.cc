// Reads AWS::DynamoDB::Table and AWS::Serverless::SimpleTable.
#include <map>

#include "runtime/deploy/builder.h"

namespace freshet {
namespace {

constexpr std::string_view kNoCapacity = "capacity is not provisioned";

// Attribute names with their types, and which of them a key uses.
struct Attributes {
  struct Entry {
    Type type;
    int line;
    bool used = false;
  };
  std::map<std::string, Entry> entries;

  void read(Properties& properties) {
    properties.each("AttributeDefinitions", [&](Properties& attribute) {
      std::string name = attribute.required_text("AttributeName");
      attribute.required_text("AttributeType");
      auto type = attribute.choice("AttributeType", {"S", "N", "B"});
      if (name.empty() || !type) return;
      Type key_type = *type == "S" ? Type::kString : *type == "N" ? Type::kNumber : Type::kBinary;
      if (!entries.emplace(name, Entry{key_type, attribute.line()}).second) {
        attribute.error("AttributeName", "the attribute '" + name + "' is defined twice");
      }
    });
  }

  KeyAttribute key(Properties& schema, const std::string& name) {
    auto found = entries.find(name);
    if (found == entries.end()) {
      std::vector<std::string> known;
      for (const auto& [other, entry] : entries) known.push_back(other);
      schema.error("AttributeName",
                   "the key attribute '" + name + "' is not in AttributeDefinitions" + did_you_mean(name, known));
      return {name, Type::kString};
    }
    found->second.used = true;
    return {name, found->second.type};
  }
};

// With `composite` there may be several attributes of each role.
KeySchema read_keys(Properties& properties, Attributes& attributes, bool composite) {
  KeySchema keys;
  bool there = properties.each("KeySchema", [&](Properties& key) {
    std::string name = key.required_text("AttributeName");
    key.required_text("KeyType");
    auto role = key.choice("KeyType", {"HASH", "RANGE"});
    if (name.empty() || !role) return;
    KeyAttribute attribute = attributes.key(key, name);
    const bool hash = *role == "HASH";
    const bool again = hash ? !keys.partition.name.empty() : keys.sort.has_value();
    if (again && !composite) return key.error("KeyType", "a second " + *role + " key");
    if (again) {
      (hash ? keys.more_partition : keys.more_sort).push_back(attribute);
    } else if (hash) {
      keys.partition = attribute;
    } else {
      keys.sort = attribute;
    }
  });
  if (!there) {
    properties.missing("KeySchema", "KeySchema is missing");
  } else if (keys.partition.name.empty()) {
    properties.error("KeySchema", "there is no HASH key");
  }
  return keys;
}

void read_indexes(Properties& properties, std::string_view section, Attributes& attributes, TableDefinition& table) {
  properties.each(section, [&](Properties& entry) {
    IndexDefinition index;
    index.local = section == "LocalSecondaryIndexes";
    index.name = entry.required_text("IndexName");
    index.keys = read_keys(entry, attributes, !index.local);
    bool there = entry.in("Projection", [&](Properties& projection) {
      auto type = projection.choice("ProjectionType", {"ALL", "KEYS_ONLY", "INCLUDE"});
      index.included = projection.texts("NonKeyAttributes");
      if (!type) return projection.error("ProjectionType", "ProjectionType must be ALL, KEYS_ONLY or INCLUDE");
      index.projection = *type == "ALL"         ? Projection::kAll
                         : *type == "KEYS_ONLY" ? Projection::kKeysOnly
                                                : Projection::kInclude;
      if ((index.projection == Projection::kInclude) == index.included.empty()) {
        projection.error("NonKeyAttributes", "NonKeyAttributes belong to ProjectionType INCLUDE, and only there");
      }
    });
    if (!there) entry.missing("Projection", "Projection is missing");
    entry.no_effect({"ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput"}, kNoCapacity);
    entry.no_effect({"ContributorInsightsSpecification"}, "watch /metrics instead");
    table.indexes.push_back(std::move(index));
  });
}

void read_stream(Properties& properties, TableDefinition& table) {
  properties.in("StreamSpecification", [&](Properties& stream) {
    stream.required_text("StreamViewType");
    auto view = stream.choice("StreamViewType", {"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"});
    stream.no_effect({"ResourcePolicy"}, "access is not checked by policy");
    if (!view) return;
    table.stream = *view == "KEYS_ONLY"   ? StreamView::kKeysOnly
                   : *view == "NEW_IMAGE" ? StreamView::kNewImage
                   : *view == "OLD_IMAGE" ? StreamView::kOldImage
                                          : StreamView::kNewAndOldImages;
  });
}

// The queue always uses these values; a template may state them, so that it documents its assumptions.
void check_fixed(Properties& options, std::string_view name, const std::string& value, std::string_view why) {
  const std::string found = options.text(name).value_or(value);
  if (found == value) return;
  options.error(name, "it is " + value + " and cannot be '" + found + "': " + std::string(why));
}

}  // namespace

void DeploymentBuilder::read_table_metadata(const Resource& resource, TableDefinition& table) {
  const Node* ours = resource.metadata.find("Freshet");
  Properties freshet(ours, {resource.id, "Metadata.Freshet"}, diagnostics_);
  table.ttl_in_milliseconds = freshet.boolean("TtlInMilliseconds").value_or(false);
  const Node* queue = freshet.take("Queue");
  if (!queue) return;
  if (queue->is_scalar()) {
    if (freshet.boolean("Queue").value_or(false)) table.books = BooksDefinition{};
    return;
  }
  freshet.in("Queue", [&](Properties& options) {
    const BooksDefinition books;
    check_fixed(options, "StatusAttribute", books.status_attribute, "the states of tasks are kept in that attribute");
    check_fixed(options, "HeldStatus", books.held_status, "that is the state of tasks in work");
    table.books = books;
  });
}

void DeploymentBuilder::keep_table(const Resource& resource, TableDefinition table) {
  read_table_metadata(resource, table);
  if (table.name.starts_with(kSystemTablePrefix)) {
    diagnostics_.error(resource.line, {resource.id, "TableName"},
                       "names that start with '" + std::string(kSystemTablePrefix) +
                           "' are those of Freshet's own "
                           "tables; give it another TableName");
  }
  if (auto valid = validate(table); !valid && !diagnostics_.failed()) {
    diagnostics_.error(resource.line, {resource.id, ""}, valid.error().message);
  }
  names_.push_back({"table " + table.name, resource.id, resource.line});
  if (table.books) out_.queues.push_back(table.name);
  out_.tables.push_back(std::move(table));
}

void DeploymentBuilder::add_table(const Resource& resource, Properties& properties) {
  TableDefinition table;
  table.name = resource.name;
  properties.ignore({"TableName"});
  properties.no_effect({"Tags"}, kNoTags);
  Attributes attributes;
  attributes.read(properties);
  table.keys = read_keys(properties, attributes, false);
  read_indexes(properties, "GlobalSecondaryIndexes", attributes, table);
  read_indexes(properties, "LocalSecondaryIndexes", attributes, table);
  for (const auto& [name, entry] : attributes.entries) {
    if (entry.used) continue;
    diagnostics_.error(entry.line, {resource.id, "AttributeDefinitions"},
                       "no key of the table or of an index uses the attribute '" + name + "'");
  }
  read_stream(properties, table);
  properties.in("TimeToLiveSpecification", [&](Properties& ttl) {
    bool enabled = ttl.boolean("Enabled").value_or(true);
    auto attribute = ttl.text("AttributeName");
    if (enabled && !attribute) ttl.missing("AttributeName", "AttributeName is missing");
    if (enabled) table.ttl_attribute = attribute;
  });
  auto billing = properties.choice("BillingMode", {"PAY_PER_REQUEST", "PROVISIONED"});
  if (billing == "PROVISIONED") properties.no_effect({"BillingMode"}, kNoCapacity);
  properties.no_effect({"ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput", "TableClass"}, kNoCapacity);
  properties.no_effect({"SSESpecification"}, "nothing is encrypted at rest");
  properties.no_effect({"PointInTimeRecoverySpecification"}, "copy the data directory instead");
  properties.no_effect({"DeletionProtectionEnabled"}, "a deployment never deletes a table");
  properties.no_effect({"ContributorInsightsSpecification"}, "watch /metrics instead");
  properties.no_effect({"ResourcePolicy"}, "access is not checked by policy");
  properties.no_effect({"KinesisStreamSpecification"}, "there are no Kinesis streams");
  if (properties.take("ImportSourceSpecification")) {
    properties.error("ImportSourceSpecification", "importing is not supported; put the items after the deployment");
  }
  keep_table(resource, std::move(table));
}

void DeploymentBuilder::add_simple_table(const Resource& resource, Properties& properties) {
  TableDefinition table;
  table.name = resource.name;
  table.keys.partition = {"id", Type::kString};
  properties.ignore({"TableName"});
  properties.no_effect({"Tags"}, kNoTags);
  properties.in("PrimaryKey", [&](Properties& key) {
    table.keys.partition.name = key.required_text("Name");
    auto type = key.choice("Type", {"String", "Number", "Binary"}).value_or("String");
    table.keys.partition.type = type == "String" ? Type::kString : type == "Number" ? Type::kNumber : Type::kBinary;
  });
  properties.no_effect({"ProvisionedThroughput"}, kNoCapacity);
  properties.no_effect({"SSESpecification"}, "nothing is encrypted at rest");
  properties.no_effect({"PointInTimeRecoverySpecification"}, "copy the data directory instead");
  keep_table(resource, std::move(table));
}

}  // namespace freshet
