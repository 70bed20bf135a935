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
void read_key(JsonMembers& whole, std::string_view member, KeyAttribute& key) {
  std::string type = "S";
  read_part(whole, member, {"name", "type"}, [&](JsonMembers& members) {
    members.text("name", key.name);
    members.text("type", type);
  });
  if (auto read = key_type(type)) {
    key.type = *read;
  } else if (const auto json = whole.find(member)) {
    whole.refuse(*json, "has a wrong type: " + read.error().message);
  }
}

void read_names(JsonMembers& whole, Names& names) {
  read_part(whole, "attributes",
            {"system_info", "last_updated_timestamp", "queued", "DLQ", "priority", "queue_order", "visible_at"},
            [&](JsonMembers& members) {
              members.text("system_info", names.system_info);
              members.text("last_updated_timestamp", names.last_updated);
              members.text("queued", names.queued);
              members.text("DLQ", names.dead);
              members.text("priority", names.priority);
              members.text("queue_order", names.order);
              members.text("visible_at", names.visible_at);
            });
}

void read_states(JsonMembers& whole, States& states) {
  const auto json = whole.find("states");
  if (json && json->is(JsonKind::kBool)) {
    states.used = json->boolean();
    return;
  }
  read_part(whole, "states", {"initial", "ready", "processing", "completed", "dead", "others"},
            [&](JsonMembers& members) {
              members.text("initial", states.initial);
              members.text("ready", states.ready);
              members.text("processing", states.processing);
              members.text("completed", states.completed);
              members.text("dead", states.dead);
              read_texts(members, "others", "an array of strings", states.others);
            });
}

void read_numbers(JsonMembers& whole, Numbers& numbers) {
  read_part(whole, "numbers", {"ready", "in_flight", "delayed", "dead"}, [&](JsonMembers& members) {
    members.integer("ready", 0, kLargestNumber, numbers.ready);
    members.integer("in_flight", 0, kLargestNumber, numbers.in_flight);
    members.integer("delayed", 0, kLargestNumber, numbers.delayed);
    members.integer("dead", 0, kLargestNumber, numbers.dead);
  });
}

void read_backoff(JsonMembers& whole, BackoffSettings& backoff) {
  read_part(whole, "backoff", {"base_ms", "max_ms", "factor", "jitter"}, [&](JsonMembers& members) {
    read_milliseconds(members, "base_ms", 0, kMaxMs, backoff.base);
    read_milliseconds(members, "max_ms", 0, kMaxMs, backoff.max);
    members.real("factor", 1, 1000, backoff.factor);
    members.real("jitter", 0, 1, backoff.jitter);
  });
}

constexpr WordsFor<Order, 3> kOrders = {
    {{"timestamp", Order::kTimestamp}, {"priority", Order::kPriority}, {"priority-timestamp", Order::kBoth}}};
constexpr WordsFor<bool, 2> kInFlight = {{{"moved", false}, {"in-place", true}}};

void read_order(JsonMembers& whole, Settings& settings) {
  read_word(whole, "order", kOrders, settings.order);
  whole.boolean("newest_first", settings.newest_first);
  whole.boolean("lowest_priority_first", settings.lowest_first);
}

void read_behaviour(JsonMembers& members, Settings& settings) {
  read_word(members, "in_flight", kInFlight, settings.in_place);
  read_milliseconds(members, "visibility_timeout_ms", 1, kMaxMs, settings.visibility);
  read_milliseconds(members, "delay_ms", 0, kMaxMs, settings.delay);
  read_milliseconds(members, "sweep_ms", 1, kMaxMs, settings.sweep);
  members.integer("max_failures", 0, 1'000'000, settings.max_failures);
  members.boolean("strict", settings.strict);
  members.boolean("require_receipt", settings.require_receipt);
  std::string separator(1, settings.key_separator);
  members.text("key_separator", separator);
  if (const auto json = members.find("key_separator"); json && separator.size() != 1) {
    members.refuse(*json, "must be one character");
  } else {
    settings.key_separator = separator.front();
  }
}

Result<Definition> read_own(const JsonView& json) {
  Definition definition;
  Settings& settings = definition.settings;
  JsonMembers members(json, {"name",
                             "table",
                             "state_table",
                             "partition_key",
                             "sort_key",
                             "attributes",
                             "states",
                             "numbers",
                             "order",
                             "newest_first",
                             "lowest_priority_first",
                             "queue_index",
                             "dlq_index",
                             "visible_index",
                             "in_flight",
                             "visibility_timeout_ms",
                             "delay_ms",
                             "max_failures",
                             "backoff",
                             "strict",
                             "require_receipt",
                             "key_separator",
                             "sweep_ms"});
  members.text("name", settings.name);
  members.text("table", settings.table);
  if (settings.name.empty()) settings.name = settings.table;
  members.text("state_table", settings.state_table);
  members.text("queue_index", settings.queue_index);
  members.text("dlq_index", settings.dead_index);
  members.text("visible_index", settings.visible_index);
  read_names(members, settings.names);
  read_states(members, settings.states);
  read_numbers(members, settings.numbers);
  read_order(members, settings);
  read_behaviour(members, settings);
  read_backoff(members, settings.backoff);
  KeySchema keys{{"id", Type::kString}, {}};
  read_key(members, "partition_key", keys.partition);
  if (members.find("sort_key")) {
    keys.sort.emplace();
    read_key(members, "sort_key", *keys.sort);
  }
  if (members.error()) return fail(*members.error());
  if (auto valid = validate(settings); !valid) return fail(valid.error());
  definition.table = records_table(settings, std::move(keys));
  return definition;
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
