#include "functions/priority/definition.h"

#include <algorithm>

#include "functions/definition_file.h"

namespace freshet::priority {
namespace {

constexpr int64_t kMaxMs = kLongestTimeout.count();

Result<Type> key_type(std::string_view text) {
  if (text == "S" || text == "String") return Type::kString;
  if (text == "N" || text == "Numeric" || text == "Number") return Type::kNumber;
  if (text == "B" || text == "Binary") return Type::kBinary;
  return invalid("'" + std::string(text) + "' is no type of a key: there are S, N and B (String, Numeric, Binary)");
}

// {"name": "id", "type": "S"}
struct KeyText {
  std::string name;
  std::string type = "S";
};
constexpr Field<KeyText> kKey[] = {{"name", text_field<&KeyText::name>}, {"type", text_field<&KeyText::type>}};

void read_key(JsonMembers& whole, std::string_view member, KeyAttribute& key) {
  KeyText text{key.name};
  read_part(whole, member, kKey, text);
  key.name = std::move(text.name);
  if (auto read = key_type(text.type)) {
    key.type = *read;
  } else if (const auto json = whole.find(member)) {
    whole.refuse(*json, "has a wrong type: " + read.error().message);
  }
}

constexpr Field<Names> kNames[] = {
    {"system_info", text_field<&Names::system_info>}, {"last_updated_timestamp", text_field<&Names::last_updated>},
    {"queued", text_field<&Names::queued>},           {"DLQ", text_field<&Names::dead>},
    {"priority", text_field<&Names::priority>},       {"queue_order", text_field<&Names::order>},
    {"visible_at", text_field<&Names::visible_at>},
};

constexpr Field<States> kStates[] = {
    {"initial", text_field<&States::initial>},
    {"ready", text_field<&States::ready>},
    {"processing", text_field<&States::processing>},
    {"completed", text_field<&States::completed>},
    {"dead", text_field<&States::dead>},
    {"others", texts_field<&States::others>},
};

constexpr Field<Numbers> kNumbers[] = {
    {"ready", integer_field<&Numbers::ready, 0, kLargestNumber>},
    {"in_flight", integer_field<&Numbers::in_flight, 0, kLargestNumber>},
    {"delayed", integer_field<&Numbers::delayed, 0, kLargestNumber>},
    {"dead", integer_field<&Numbers::dead, 0, kLargestNumber>},
};

constexpr Field<BackoffSettings> kBackoff[] = {
    {"base_ms", milliseconds_field<&BackoffSettings::base, 0, kMaxMs>},
    {"max_ms", milliseconds_field<&BackoffSettings::max, 0, kMaxMs>},
    {"factor", real_field<&BackoffSettings::factor, 1, 1000>},
    {"jitter", real_field<&BackoffSettings::jitter, 0, 1>},
};

constexpr WordsFor<Order, 3> kOrders = {
    {{"timestamp", Order::kTimestamp}, {"priority", Order::kPriority}, {"priority-timestamp", Order::kBoth}}};
constexpr WordsFor<bool, 2> kInFlight = {{{"moved", false}, {"in-place", true}}};

struct Own : Settings {
  KeySchema keys{{"id", Type::kString}, {}};
};

void read_states(JsonMembers& members, std::string_view name, Own& own) {
  const auto json = members.find(name);
  if (json && json->is(JsonKind::kBool)) {
    own.states.used = json->boolean();
  } else {
    read_part(members, name, kStates, own.states);
  }
}

void read_separator(JsonMembers& members, std::string_view name, Own& own) {
  std::string separator(1, own.key_separator);
  members.text(name, separator);
  if (const auto json = members.find(name); json && separator.size() != 1) {
    members.refuse(*json, "must be one character");
  } else {
    own.key_separator = separator.front();
  }
}

constexpr Field<Own> kOwn[] = {
    {"name", text_field<&Settings::name>},
    {"table", text_field<&Settings::table>},
    {"state_table", text_field<&Settings::state_table>},
    {"partition_key",
     [](JsonMembers& members, std::string_view name, Own& own) { read_key(members, name, own.keys.partition); }},
    {"sort_key",
     [](JsonMembers& members, std::string_view name, Own& own) {
       if (members.find(name)) read_key(members, name, own.keys.sort.emplace());
     }},
    {"attributes", part_field<&Settings::names, kNames>},
    {"states", read_states},
    {"numbers", part_field<&Settings::numbers, kNumbers>},
    {"order", word_field<&Settings::order, kOrders>},
    {"newest_first", boolean_field<&Settings::newest_first>},
    {"lowest_priority_first", boolean_field<&Settings::lowest_first>},
    {"queue_index", text_field<&Settings::queue_index>},
    {"dlq_index", text_field<&Settings::dead_index>},
    {"visible_index", text_field<&Settings::visible_index>},
    {"in_flight", word_field<&Settings::in_place, kInFlight>},
    {"visibility_timeout_ms", milliseconds_field<&Settings::visibility, 1, kMaxMs>},
    {"delay_ms", milliseconds_field<&Settings::delay, 0, kMaxMs>},
    {"max_failures", integer_field<&Settings::max_failures, 0, 1'000'000>},
    {"backoff", part_field<&Settings::backoff, kBackoff>},
    {"strict", boolean_field<&Settings::strict>},
    {"require_receipt", boolean_field<&Settings::require_receipt>},
    {"key_separator", read_separator},
    {"sweep_ms", milliseconds_field<&Settings::sweep, 1, kMaxMs>},
};

Result<Definition> read_own(const JsonView& json) {
  Own own;
  if (auto error = read_fields(json, kOwn, own)) return fail(std::move(*error));
  if (own.name.empty()) own.name = own.table;
  if (auto valid = validate(own); !valid) return fail(valid.error());
  auto table = records_table(own, std::move(own.keys));
  return Definition{std::move(own), std::move(table)};
}

// Both foreign forms come down to a table and those of its indexes that are the queue's.
Result<Definition> of_table(std::string name, TableDefinition table) {
  Definition definition;
  definition.settings.name = std::move(name);
  definition.settings.table = table.name;
  for (const auto& index : table.indexes) {
    if (!index.keys.sort) continue;
    if (index.keys.partition.name == definition.settings.names.queued) {
      definition.settings.queue_index = index.name;
      definition.settings.names.last_updated = index.keys.sort->name;
    } else if (index.keys.partition.name == definition.settings.names.dead) {
      definition.settings.dead_index = index.name;
    }
  }
  if (definition.settings.queue_index.empty()) {
    return invalid("table '" + table.name + "' has no index on 'queued' with a sort key: it is no priority queue");
  }
  if (auto valid = validate(definition.settings); !valid) return fail(valid.error());
  definition.table = std::move(table);
  return definition;
}

// {"attribute_name": "id", "attribute_type": "String"}, as the sample's configuration.json has it.
Result<KeyAttribute> sample_key(const JsonView& table, std::string_view member) {
  const auto json = table.find(member);
  if (!json) return invalid("'" + table.path() + "." + std::string(member) + "' is missing");
  const auto name = json->string_or("attribute_name");
  const auto type = json->string_or("attribute_type", "String");
  if (!name) return fail(name.error());
  if (!type) return fail(type.error());
  auto known = key_type(*type);
  if (!known) return invalid("'" + json->path() + "': " + known.error().message);
  return KeyAttribute{std::string(*name), *known};
}

Result<std::optional<KeyAttribute>> sample_sort_key(const JsonView& table) {
  if (!table.find("sort_key")) return std::optional<KeyAttribute>();
  auto key = sample_key(table, "sort_key");
  if (!key) return fail(key.error());
  return std::optional(std::move(*key));
}

Result<Definition> read_sample_table(const JsonView& json) {
  TableDefinition table;
  const auto logical = json.string_or("logical_name");
  const auto name = json.string_or("table_name");
  if (!logical || !name) return fail(logical ? name.error() : logical.error());
  table.name = *name;
  auto key = sample_key(json, "partition_key");
  if (!key) return fail(key.error());
  auto sort = sample_sort_key(json);
  if (!sort) return fail(sort.error());
  table.keys = {std::move(*key), std::move(*sort)};
  if (const auto indexes = json.find("indexes")) {
    for (const JsonView one : *indexes) {
      const auto index_name = one.string_or("index_name");
      auto hash = sample_key(one, "hash_key");
      auto range = sample_sort_key(one);
      if (!index_name || !hash || !range) {
        return fail(!index_name ? index_name.error() : !hash ? hash.error() : range.error());
      }
      table.indexes.push_back(
          {std::string(*index_name), {std::move(*hash), std::move(*range)}, false, Projection::kAll, {}});
    }
  }
  return of_table(logical->empty() ? table.name : std::string(*logical), std::move(table));
}

// KeySchema of CloudFormation, with the types of AttributeDefinitions.
Result<KeySchema> template_keys(const JsonView& owner, const JsonView& properties) {
  KeySchema keys;
  const auto schema = owner.find("KeySchema");
  if (!schema) return invalid("'" + owner.path() + ".KeySchema' is missing");
  for (const JsonView one : *schema) {
    const auto name = one.string_or("AttributeName");
    const auto kind = one.string_or("KeyType");
    if (!name || !kind) return fail(name ? kind.error() : name.error());
    KeyAttribute key{std::string(*name), Type::kString};
    if (const auto attributes = properties.find("AttributeDefinitions")) {
      for (const JsonView attribute : *attributes) {
        if (attribute.string_or("AttributeName").value_or("") != *name) continue;
        auto type = key_type(attribute.string_or("AttributeType", "S").value_or(""));
        if (!type) return invalid("'" + attribute.path() + "': " + type.error().message);
        key.type = *type;
      }
    }
    if (*kind == "RANGE") {
      keys.sort = std::move(key);
    } else {
      keys.partition = std::move(key);
    }
  }
  return keys;
}

Result<TableDefinition> template_table(const JsonView& properties, std::string_view logical) {
  TableDefinition table;
  const auto name = properties.string_or("TableName", logical);
  if (!name) return fail(name.error());
  table.name = *name;
  auto keys = template_keys(properties, properties);
  if (!keys) return fail(keys.error());
  table.keys = std::move(*keys);
  const auto indexes = properties.find("GlobalSecondaryIndexes");
  if (!indexes) return table;
  for (const JsonView one : *indexes) {
    const auto index_name = one.string_or("IndexName");
    if (!index_name) return fail(index_name.error());
    auto index_keys = template_keys(one, properties);
    if (!index_keys) return fail(index_keys.error());
    table.indexes.push_back({std::string(*index_name), std::move(*index_keys), false, Projection::kAll, {}});
  }
  return table;
}

// Every table of the template that has the index; other resources are not this reader's.
Result<std::vector<Definition>> read_template(const JsonView& resources) {
  std::vector<Definition> out;
  for (const JsonView resource : resources) {
    const auto properties = resource.find("Properties");
    if (resource.string_or("Type").value_or("") != "AWS::DynamoDB::Table" || !properties) continue;
    auto table = template_table(*properties, resource.name());
    if (!table) return fail(table.error());
    const bool queue = std::any_of(table->indexes.begin(), table->indexes.end(),
                                   [](const auto& index) { return index.keys.partition.name == Names().queued; });
    if (!queue) continue;
    std::string name = table->name;
    auto definition = of_table(std::move(name), std::move(*table));
    if (!definition) return fail(definition.error());
    out.push_back(std::move(*definition));
  }
  if (out.empty()) return invalid("'Resources' has no AWS::DynamoDB::Table with an index on 'queued'");
  return out;
}

}  // namespace

Result<std::vector<Definition>> read_definitions(std::string_view json) {
  JsonDocument document;
  const auto root = document.parse(json);
  if (!root) return fail(root.error());
  if (const auto resources = root->find("Resources")) return read_template(*resources);
  if (const auto tables = root->find("tables")) return read_each(*tables, read_sample_table);
  return read_one_or_each(*root, "queues", read_own);
}

}  // namespace freshet::priority
