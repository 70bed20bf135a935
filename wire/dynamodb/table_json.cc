#include "wire/dynamodb/table_json.h"

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "tables/value/json.h"

namespace freshet::dynamodb {

void append_member(std::string& json, std::string_view name, std::string_view text) {
  json += json.ends_with('{') ? "\"" : ",\"";
  json += name;
  json += "\":";
  append_json_string(json, text);
}

void append_attribute_definitions(std::string& json, const TableDefinition& table) {
  std::map<std::string, Type> types;
  const auto note = [&](const KeySchema& keys) {
    for (const auto* key : keys.attributes()) types.emplace(key->name, key->type);
  };
  note(table.keys);
  for (const IndexDefinition& index : table.indexes) note(index.keys);
  json += json.ends_with('{') ? "\"AttributeDefinitions\":[" : ",\"AttributeDefinitions\":[";
  for (const auto& [name, type] : types) {
    json += json.ends_with('[') ? "{" : ",{";
    append_member(json, "AttributeName", name);
    append_member(json, "AttributeType", type_name(type));
    json += '}';
  }
  json += ']';
}

namespace {

std::optional<Throughput> throughput_of(const TableSettings& settings, const std::string& index) {
  const auto known = settings.index_throughput.find(index);
  return known == settings.index_throughput.end() ? settings.throughput : known->second;
}

void append_capacity(std::string& json, const std::optional<Throughput>& throughput) {
  const Throughput shown = throughput.value_or(Throughput{});
  json += "\"ReadCapacityUnits\":" + std::to_string(shown.read) +
          ",\"WriteCapacityUnits\":" + std::to_string(shown.write) + '}';
}

// Zeros if the table is billed by request, as the service shows it.
void append_throughput(std::string& json, const std::optional<Throughput>& throughput) {
  json += ",\"ProvisionedThroughput\":{\"NumberOfDecreasesToday\":0,";
  append_capacity(json, throughput);
}

// {"IndexName":...,"KeySchema":[...],"Projection":{...} without the end.
void append_index_shape(std::string& json, const IndexDefinition& index) {
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
}

void append_index(std::string& json, const IndexDefinition& index, const TableDescription& table,
                  const std::string& table_arn) {
  const auto found = std::find_if(table.indexes.begin(), table.indexes.end(),
                                  [&](const IndexState& state) { return state.name == index.name; });
  const bool building = found != table.indexes.end() && found->building;
  append_index_shape(json, index);
  append_member(json, "IndexArn", table_arn + "/index/" + index.name);
  if (!index.local) {
    append_member(json, "IndexStatus", building ? "CREATING" : "ACTIVE");
    if (building) json += ",\"Backfilling\":true";
    append_throughput(json, throughput_of(table.definition.settings, index.name));
  }
  if (found != table.indexes.end()) {
    json += ",\"IndexSizeBytes\":" + std::to_string(found->bytes) + ",\"ItemCount\":" + std::to_string(found->items);
  }
  json += '}';
}

void append_indexes(std::string& json, const TableDescription& table, bool local, const std::string& table_arn) {
  bool any = false;
  for (const IndexDefinition& index : table.definition.indexes) {
    if (index.local != local) continue;
    if (!std::exchange(any, true)) {
      json += local ? ",\"LocalSecondaryIndexes\":[" : ",\"GlobalSecondaryIndexes\":[";
    } else {
      json += ',';
    }
    append_index(json, index, table, table_arn);
  }
  if (any) json += ']';
}

void append_restore_summary(std::string& json, const RestoreOrigin& restored, const ResponseScope& place) {
  json += ",\"RestoreSummary\":{";
  append_member(json, "SourceBackupArn", place.backup_arn(restored.table, restored.backup));
  append_member(json, "SourceTableArn", place.table_arn(restored.table));
  json += ",\"RestoreDateTime\":" + seconds_of(restored.at) + ",\"RestoreInProgress\":";
  json += restored.in_progress ? "true}" : "false}";
}

// Only for a table that is billed by request, or was at some time.
void append_billing(std::string& json, const TableDescription& table) {
  const bool by_request = !table.definition.settings.throughput;
  if (!by_request && !table.by_request_since) return;
  json += ",\"BillingModeSummary\":{\"BillingMode\":";
  json += by_request ? "\"PAY_PER_REQUEST\"" : "\"PROVISIONED\"";
  json += ",\"LastUpdateToPayPerRequestDateTime\":" + seconds_of(table.by_request_since.value_or(table.created)) + '}';
}

// The members that DescribeTable and DeleteTable both show behind the throughput.
void append_sizes_and_names(std::string& json, const TableDescription& table, const std::string& arn) {
  json += ",\"TableSizeBytes\":" + std::to_string(table.bytes) + ",\"ItemCount\":" + std::to_string(table.items);
  append_member(json, "TableArn", arn);
  append_member(json, "TableId", table.id);
  append_billing(json, table);
  if (table.definition.settings.table_class.empty()) return;
  json += ",\"TableClassSummary\":{";
  append_member(json, "TableClass", table.definition.settings.table_class);
  json += '}';
}

void append_stream_specification(std::string& json, StreamView view) {
  json += ",\"StreamSpecification\":{\"StreamEnabled\":true";
  append_member(json, "StreamViewType", stream_view_name(view));
  json += '}';
}

void append_protection(std::string& json, const TableDefinition& table) {
  json += table.settings.deletion_protection ? ",\"DeletionProtectionEnabled\":true"
                                             : ",\"DeletionProtectionEnabled\":false";
}

}  // namespace

void append_units(std::string& json, const std::optional<Throughput>& throughput) {
  json += ",\"ProvisionedThroughput\":{";
  append_capacity(json, throughput);
}

void append_index_infos(std::string& json, const TableDefinition& table, bool local) {
  bool any = false;
  for (const IndexDefinition& index : table.indexes) {
    if (index.local != local) continue;
    json += std::exchange(any, true) ? ","
            : json.ends_with('{')    ? (local ? "\"LocalSecondaryIndexes\":[" : "\"GlobalSecondaryIndexes\":[")
            : local                  ? ",\"LocalSecondaryIndexes\":["
                                     : ",\"GlobalSecondaryIndexes\":[";
    append_index_shape(json, index);
    if (!local) append_units(json, throughput_of(table.settings, index.name));
    json += '}';
  }
  if (any) json += ']';
}

void append_asked_index(std::string& json, const TableDefinition& table, const IndexDefinition& index) {
  append_index_shape(json, index);
  if (!index.local && table.settings.throughput) {
    append_units(json, throughput_of(table.settings, index.name));
    json += '}';
  }
  json += '}';
}

void append_asked_definition(std::string& json, const TableDefinition& table) {
  json += '{';
  append_member(json, "TableName", table.name);
  append_attribute_definitions(json, table);
  json += ',';
  append_key_schema(json, table.keys);
  for (const bool local : {true, false}) {
    std::string list;
    for (const IndexDefinition& index : table.indexes) {
      if (index.local != local) continue;
      if (!list.empty()) list += ',';
      append_asked_index(list, table, index);
    }
    if (list.empty()) continue;
    json += local ? ",\"LocalSecondaryIndexes\":[" : ",\"GlobalSecondaryIndexes\":[";
    json += list + ']';
  }
  if (table.settings.throughput) {
    append_units(json, table.settings.throughput);
    json += '}';
  } else {
    append_member(json, "BillingMode", "PAY_PER_REQUEST");
  }
  if (table.stream) append_stream_specification(json, *table.stream);
  if (!table.settings.table_class.empty()) append_member(json, "TableClass", table.settings.table_class);
  if (table.settings.deletion_protection) append_protection(json, table);
  json += '}';
}

void append_key_schema(std::string& json, const KeySchema& keys) {
  json += "\"KeySchema\":[";
  const auto append = [&](const KeyAttributes& part, std::string_view type) {
    for (const auto* key : part) {
      json += json.ends_with('[') ? "{" : ",{";
      append_member(json, "AttributeName", key->name);
      append_member(json, "KeyType", type);
      json += '}';
    }
  };
  append(keys.partition_attributes(), "HASH");
  append(keys.sort_attributes(), "RANGE");
  json += ']';
}

std::string seconds_of(WallTime time) {
  const int64_t ms = std::max<int64_t>(0, epoch_ms(time));
  std::string fraction = std::to_string(ms % 1000);
  return std::to_string(ms / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

void append_table_json(std::string& json, const TableDescription& table, std::string_view status,
                       const ResponseScope& place) {
  const TableDefinition& definition = table.definition;
  const std::string arn = place.table_arn(definition.name);
  json += '{';
  append_attribute_definitions(json, definition);
  append_member(json, "TableName", definition.name);
  json += ',';
  append_key_schema(json, definition.keys);
  append_member(json, "TableStatus", table.restored && table.restored->in_progress ? "CREATING" : status);
  json += ",\"CreationDateTime\":" + seconds_of(table.created);
  append_throughput(json, definition.settings.throughput);
  append_sizes_and_names(json, table, arn);
  append_indexes(json, table, true, arn);
  append_indexes(json, table, false, arn);
  if (definition.stream) {
    append_stream_specification(json, *definition.stream);
    append_member(json, "LatestStreamLabel", table.stream_label);
    append_member(json, "LatestStreamArn", arn + "/stream/" + table.stream_label);
  }
  if (table.restored) append_restore_summary(json, *table.restored, place);
  append_protection(json, definition);
  json += '}';
}

void append_deleted_table_json(std::string& json, const TableDescription& table, const ResponseScope& place) {
  json += '{';
  append_member(json, "TableName", table.definition.name);
  append_member(json, "TableStatus", "DELETING");
  append_throughput(json, table.definition.settings.throughput);
  append_sizes_and_names(json, table, place.table_arn(table.definition.name));
  append_protection(json, table.definition);
  json += '}';
}

}  // namespace freshet::dynamodb
