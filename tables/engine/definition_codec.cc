// Encodes definitions as items for the catalog in the log.
#include "tables/engine/batch.h"

namespace freshet {
namespace {

Value key_to_value(const KeyAttribute& key) {
  return Value(Map{{"name", Value(key.name)}, {"type", Value(type_name(key.type))}});
}

// Keys with several attributes a part have names of their own: an older program finds no key there and refuses.
Value keys_to_value(const KeySchema& keys) {
  if (keys.is_composite()) {
    const auto list = [](const KeyAttributes& attributes) {
      List out;
      for (const auto* key : attributes) out.elements.push_back(key_to_value(*key));
      return Value(std::move(out));
    };
    return Value(Map{{"partitions", list(keys.partition_attributes())}, {"sorts", list(keys.sort_attributes())}});
  }
  Map map{{"partition", key_to_value(keys.partition)}};
  if (keys.sort) map.set("sort", key_to_value(*keys.sort));
  return Value(std::move(map));
}

Value index_to_value(const IndexDefinition& index) {
  Map map{{"name", Value(index.name)},
          {"keys", keys_to_value(index.keys)},
          {"local", Value::boolean(index.local)},
          {"projection", Value::number(static_cast<int64_t>(index.projection))}};
  List included;
  for (const auto& name : index.included) included.elements.emplace_back(name);
  map.set("included", Value(std::move(included)));
  return Value(std::move(map));
}

const Map& map_or_empty(const Map& map, std::string_view name) {
  static const Map kEmpty;
  const Value* value = map.find(name);
  const Map* found = value ? value->get_if<Map>() : nullptr;
  return found ? *found : kEmpty;
}

const List& list_or_empty(const Map& map, std::string_view name) {
  static const List kEmpty;
  const Value* value = map.find(name);
  const List* found = value ? value->get_if<List>() : nullptr;
  return found ? *found : kEmpty;
}

bool bool_or_false(const Map& map, std::string_view name) {
  const Value* value = map.find(name);
  const bool* found = value ? value->get_if<bool>() : nullptr;
  return found && *found;
}

KeyAttribute key_from_map(const Map& map) {
  KeyAttribute key{std::string(map.string_or("name")), Type::kString};
  if (map.string_or("type") == "N") key.type = Type::kNumber;
  if (map.string_or("type") == "B") key.type = Type::kBinary;
  return key;
}

KeySchema keys_from_map(const Map& map) {
  if (map.contains("partitions")) {
    KeySchema keys;
    bool first = true;
    for (const auto& value : list_or_empty(map, "partitions").elements) {
      const Map* key = value.get_if<Map>();
      if (!key) continue;
      (std::exchange(first, false) ? keys.partition : keys.more_partition.emplace_back()) = key_from_map(*key);
    }
    for (const auto& value : list_or_empty(map, "sorts").elements) {
      const Map* key = value.get_if<Map>();
      if (!key) continue;
      (keys.sort ? keys.more_sort.emplace_back() : keys.sort.emplace()) = key_from_map(*key);
    }
    return keys;
  }
  KeySchema keys{key_from_map(map_or_empty(map, "partition")), {}};
  if (map.contains("sort")) keys.sort = key_from_map(map_or_empty(map, "sort"));
  return keys;
}

IndexDefinition index_from_map(const Map& map) {
  IndexDefinition index;
  index.name = map.string_or("name");
  index.keys = keys_from_map(map_or_empty(map, "keys"));
  index.local = bool_or_false(map, "local");
  index.projection = static_cast<Projection>(map.int_or("projection", 0));
  for (const auto& name : list_or_empty(map, "included").elements) {
    if (const auto* text = name.get_if<std::string>()) index.included.push_back(*text);
  }
  return index;
}

Value throughput_to_value(const Throughput& throughput) {
  return Value(Map{{"read", Value::number(throughput.read)}, {"write", Value::number(throughput.write)}});
}

Throughput throughput_from_map(const Map& map) {
  return {map.int_or("read", 0), map.int_or("write", 0)};
}

Value settings_to_value(const TableSettings& settings) {
  Map map;
  if (settings.throughput) map.set("throughput", throughput_to_value(*settings.throughput));
  Map indexes;
  for (const auto& [name, throughput] : settings.index_throughput) indexes.set(name, throughput_to_value(throughput));
  map.set("index_throughput", Value(std::move(indexes)));
  map.set("table_class", Value(settings.table_class));
  map.set("deletion_protection", Value::boolean(settings.deletion_protection));
  map.set("point_in_time_recovery", Value::boolean(settings.point_in_time_recovery));
  Map tags;
  for (const auto& [key, value] : settings.tags) tags.set(key, Value(value));
  map.set("tags", Value(std::move(tags)));
  return Value(std::move(map));
}

TableSettings settings_from_map(const Map& map) {
  TableSettings settings;
  if (map.contains("throughput")) settings.throughput = throughput_from_map(map_or_empty(map, "throughput"));
  for (const auto& [name, value] : map_or_empty(map, "index_throughput")) {
    if (const Map* throughput = value.get_if<Map>()) settings.index_throughput[name] = throughput_from_map(*throughput);
  }
  settings.table_class = map.string_or("table_class");
  settings.deletion_protection = bool_or_false(map, "deletion_protection");
  settings.point_in_time_recovery = bool_or_false(map, "point_in_time_recovery");
  const Map& tags = map_or_empty(map, "tags");
  for (const auto& [key, value] : tags) settings.tags[key] = tags.string_or(key);
  return settings;
}

Value restored_to_value(const RestoreOrigin& restored) {
  return Value(Map{{"backup", Value(restored.backup)},
                   {"table", Value(restored.table)},
                   {"at", Value::number(epoch_ms(restored.at))},
                   {"in_progress", Value::boolean(restored.in_progress)}});
}

RestoreOrigin restored_from_map(const Map& map) {
  return {std::string(map.string_or("backup")), std::string(map.string_or("table")),
          WallTime(milliseconds(map.int_or("at", 0))), bool_or_false(map, "in_progress")};
}

}  // namespace

Item table_to_item(const StoredTable& table) {
  const TableDescription& description = table.description;
  Item item;
  item.set("number", Value::number(table.number));
  item.set("id", Value(description.id));
  item.set("created", Value::number(epoch_ms(description.created)));
  if (description.by_request_since) {
    item.set("by_request_since", Value::number(epoch_ms(*description.by_request_since)));
  }
  item.set("label", Value(description.stream_label));
  item.set("next", Value::number(static_cast<int64_t>(table.stream_next)));
  item.set("oldest", Value::number(static_cast<int64_t>(table.stream_oldest)));
  item.set("definition", Value(definition_to_item(description.definition)));
  if (description.restored) item.set("restored", restored_to_value(*description.restored));
  return item;
}

Result<StoredTable> table_from_item(const Item& item) {
  auto definition = definition_from_item(map_or_empty(item, "definition"));
  if (!definition) return fail(definition.error());
  StoredTable table;
  table.description.definition = std::move(*definition);
  table.number = static_cast<uint32_t>(item.int_or("number", 0));
  table.description.id = item.string_or("id");
  table.description.created = WallTime(milliseconds(item.int_or("created", 0)));
  if (item.contains("by_request_since")) {
    table.description.by_request_since = WallTime(milliseconds(item.int_or("by_request_since", 0)));
  }
  table.description.stream_label = item.string_or("label");
  table.stream_next = static_cast<uint64_t>(item.int_or("next", 1));
  table.stream_oldest = static_cast<uint64_t>(item.int_or("oldest", 1));
  if (item.contains("restored")) table.description.restored = restored_from_map(map_or_empty(item, "restored"));
  return table;
}

Item closed_stream_to_item(const StoredClosedStream& closed) {
  const ClosedStream& stream = closed.stream;
  Item item;
  item.set("number", Value::number(closed.table));
  item.set("table", Value(stream.table));
  item.set("label", Value(stream.label));
  item.set("view", Value::number(static_cast<int64_t>(stream.view)));
  item.set("keys", keys_to_value(stream.keys));
  item.set("closed", Value::number(epoch_ms(stream.closed)));
  item.set("oldest", Value::number(static_cast<int64_t>(stream.bounds.oldest)));
  item.set("next", Value::number(static_cast<int64_t>(closed.next)));
  item.set("end", Value::number(static_cast<int64_t>(stream.bounds.next)));
  return item;
}

Result<StoredClosedStream> closed_stream_from_item(const Item& item) {
  StoredClosedStream closed;
  closed.table = static_cast<uint32_t>(item.int_or("number", 0));
  closed.next = static_cast<uint64_t>(item.int_or("next", 1));
  ClosedStream& stream = closed.stream;
  stream.table = item.string_or("table");
  stream.label = item.string_or("label");
  stream.view = static_cast<StreamView>(item.int_or("view", 0));
  stream.keys = keys_from_map(map_or_empty(item, "keys"));
  stream.closed = WallTime(milliseconds(item.int_or("closed", 0)));
  stream.bounds = {static_cast<uint64_t>(item.int_or("oldest", 1)), static_cast<uint64_t>(item.int_or("end", 1))};
  if (closed.table == 0 || stream.keys.partition.name.empty() || closed.next > stream.bounds.next) {
    return fail(ErrorCode::kCorruption, "the log's catalog holds a closed stream that is none: " + stream.label);
  }
  return closed;
}

Item definition_to_item(const TableDefinition& definition) {
  Item item{{"name", Value(definition.name)},
            {"keys", keys_to_value(definition.keys)},
            {"system", Value::boolean(definition.system)},
            {"ttl_in_milliseconds", Value::boolean(definition.ttl_in_milliseconds)}};
  List indexes;
  for (const auto& index : definition.indexes) indexes.elements.push_back(index_to_value(index));
  item.set("indexes", Value(std::move(indexes)));
  if (definition.stream) item.set("stream", Value::number(static_cast<int64_t>(*definition.stream)));
  if (definition.ttl_attribute) item.set("ttl_attribute", Value(*definition.ttl_attribute));
  if (definition.books) {
    item.set("books", Value(Map{{"status_attribute", Value(definition.books->status_attribute)},
                                {"held_status", Value(definition.books->held_status)}}));
  }
  if (!(definition.settings == TableSettings{})) item.set("settings", settings_to_value(definition.settings));
  return item;
}

Result<TableDefinition> definition_from_item(const Item& item) {
  TableDefinition definition;
  definition.name = item.string_or("name");
  definition.keys = keys_from_map(map_or_empty(item, "keys"));
  definition.system = bool_or_false(item, "system");
  definition.ttl_in_milliseconds = bool_or_false(item, "ttl_in_milliseconds");
  for (const auto& index : list_or_empty(item, "indexes").elements) {
    if (const auto* map = index.get_if<Map>()) definition.indexes.push_back(index_from_map(*map));
  }
  if (item.contains("stream")) definition.stream = static_cast<StreamView>(item.int_or("stream", 0));
  if (item.contains("ttl_attribute")) definition.ttl_attribute = std::string(item.string_or("ttl_attribute"));
  if (item.contains("books")) {
    const Map& books = map_or_empty(item, "books");
    definition.books =
        BooksDefinition{std::string(books.string_or("status_attribute")), std::string(books.string_or("held_status"))};
  }
  definition.settings = settings_from_map(map_or_empty(item, "settings"));
  const auto known = [](auto value, auto last) { return value >= decltype(value){} && value <= last; };
  bool all_known = known(definition.stream.value_or(StreamView{}), StreamView::kNewAndOldImages);
  for (const auto& index : definition.indexes) all_known = all_known && known(index.projection, Projection::kInclude);
  if (!all_known) {
    return fail(ErrorCode::kCorruption, "the log's catalog holds a stream view or projection that is none");
  }
  if (auto ok = validate(definition); !ok) {
    return fail(ErrorCode::kCorruption, "the log's catalog holds a table that is none: " + ok.error().message);
  }
  return definition;
}

}  // namespace freshet
