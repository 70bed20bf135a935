#include "tables/engine/keys.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"

namespace freshet {
namespace {

std::string quoted_mismatch(const KeyAttribute& key, const Value& value) {
  return "key " + key.name + " expected: " + std::string(type_name(key.type)) +
         " actual: " + std::string(type_name(value.type()));
}

size_t content_size(const Value& value) {
  if (const auto* s = value.get_if<std::string>()) return s->size();
  if (const auto* b = value.get_if<Binary>()) return b->bytes.size();
  return 1;  // Numbers are neither empty nor too long.
}

// Checks the size of all attributes of that part of a key together.
Result<void> check_total(size_t size, bool partition) {
  if (partition && size > limits::kMaxPartitionKeyBytes) {
    // The service's own words, without a blank before the number.
    return invalid(
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes");
  }
  if (!partition && size > limits::kMaxSortKeyBytes) {
    return invalid(
        "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of "
        "1024 bytes");
  }
  return {};
}

Result<void> check_index_size(const KeyAttribute& key, size_t size, bool partition, std::string_view index) {
  const size_t most = partition ? limits::kMaxPartitionKeyBytes : limits::kMaxSortKeyBytes;
  if (size <= most) return {};
  return invalid("One or more parameter values were invalid: Size limit exceeded for Index Key " + key.name +
                 " Actual Size: " + std::to_string(size) + " bytes Max Size: " + std::to_string(most) +
                 " bytes IndexName: " + std::string(index));
}

// Emptiness and size of a key value of the right type. `index` is empty for the table's own keys.
Result<void> check_size(const KeyAttribute& key, const Value& value, bool partition, std::string_view index) {
  const size_t size = content_size(value);
  const std::string kind = value.is(Type::kBinary) ? "binary" : "string";
  if (size == 0 && index.empty()) {
    return invalid(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty " +
        kind + " value. Key: " + key.name);
  }
  if (size == 0) {
    return invalid(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
        "The AttributeValue for a key attribute cannot contain an empty " +
        kind + " value. IndexName: " + std::string(index) + ", IndexKey: " + key.name);
  }
  if (!index.empty()) return check_index_size(key, size, partition, index);
  return check_total(size, partition);
}

Result<void> empty_index_key_in_update(const Value& value) {
  return invalid(
      "One or more parameter values are not valid. The update expression attempted to update a secondary index key to "
      "a value that is not supported. The AttributeValue for a key attribute cannot contain an empty " +
      std::string(value.is(Type::kBinary) ? "binary" : "string") + " value.");
}

Result<void> check_key_attribute(const Item& key, const KeyAttribute& attribute, bool partition) {
  const Value* value = key.find(attribute.name);
  if (!value || !value->is(attribute.type)) return invalid("The provided key element does not match the schema");
  return check_size(attribute, *value, partition, {});
}

Result<void> check_item_key(const Item& item, const KeyAttribute& attribute, bool partition) {
  const Value* value = item.find(attribute.name);
  if (!value) {
    return invalid("One or more parameter values were invalid: Missing the key " + attribute.name + " in the item");
  }
  if (!value->is(attribute.type)) {
    return invalid("One or more parameter values were invalid: Type mismatch for " +
                   quoted_mismatch(attribute, *value));
  }
  return check_size(attribute, *value, partition, {});
}

// The writer of a secondary index's key: the service refuses an empty value in different words for each.
enum class Writer { kPut, kUpdate };

// True for nearly every value: it has the right type, and is neither empty nor too long for any part of a key.
bool is_plain_key(const Value& value, Type type) {
  if (!value.is(type)) return false;
  static_assert(limits::kMaxSortKeyBytes <= limits::kMaxPartitionKeyBytes);
  const size_t size = content_size(value);
  return size > 0 && size <= limits::kMaxSortKeyBytes;
}

Result<void> check_index_key(const Value* value, const KeyAttribute& attribute, bool partition, std::string_view index,
                             Writer writer) {
  if (!value || is_plain_key(*value, attribute.type)) return {};
  if (!value->is(attribute.type)) {
    return invalid("One or more parameter values were invalid: Type mismatch for Index Key " + attribute.name +
                   " Expected: " + std::string(type_name(attribute.type)) +
                   " Actual: " + std::string(type_name(value->type())) + " IndexName: " + std::string(index));
  }
  if (writer == Writer::kUpdate && content_size(*value) == 0) return empty_index_key_in_update(*value);
  return check_size(attribute, *value, partition, index);
}

const Value& key_value(const Item& item, const KeyAttribute& key) {
  const Value* value = item.find(key.name);
  FRESHET_CHECK(value != nullptr, "the key was checked before");
  return *value;
}

}  // namespace

KeyView key_of(const ItemRef& item, const KeySchema& keys) {
  auto key = table_key_of(item, keys);
  FRESHET_CHECK(key.has_value(), "a stored item has its key");
  return *key;
}

std::optional<KeyView> table_key_of(const ItemRef& item, const KeySchema& keys) {
  return table_key_of(item.encoded(), keys);
}

std::optional<KeyView> table_key_of(std::string_view encoded_item, const KeySchema& keys) {
  const auto partition = find_attribute(encoded_item, keys.partition.name);
  if (!partition || partition->type() != keys.partition.type) return std::nullopt;
  KeyView view{partition->key_bytes(), {}};
  if (keys.sort) {
    const auto sort = find_attribute(encoded_item, keys.sort->name);
    if (!sort || sort->type() != keys.sort->type) return std::nullopt;
    view.sort = sort->key_bytes();
  }
  return view;
}

// Numbers are never a prefix of each other. Strings and binaries end with two zeros, and their own zeros are escaped,
// so that a shorter value sorts before those that begin with it.
void append_joined(std::string& out, Type type, std::string_view order_bytes) {
  if (type == Type::kNumber) {
    out.append(order_bytes);
    return;
  }
  append_joined_begin(out, order_bytes);
  out.append(2, '\0');
}

void append_joined_begin(std::string& out, std::string_view order_bytes) {
  for (const char c : order_bytes) {
    out.push_back(c);
    if (c == '\0') out.push_back('\xff');
  }
}

std::string_view IndexKeyBuilder::join(Type type, std::string_view bytes, bool partition) {
  std::string& joined = partition ? joined_.partition : joined_.sort;
  append_joined(joined, type, bytes);
  return joined;
}

std::optional<KeyView> index_key_of(const ItemRef& item, const KeySchema& keys, JoinedKey& joined) {
  IndexKeyBuilder builder(keys, joined);
  for (const auto* key : keys.partition_attributes()) {
    if (!builder.add(*key, item.find(key->name), true)) return std::nullopt;
  }
  for (const auto* key : keys.sort_attributes()) {
    if (!builder.add(*key, item.find(key->name), false)) return std::nullopt;
  }
  return builder.key();
}

KeyBytes::KeyBytes(const Value& value) {
  if (const auto* s = value.get_if<std::string>()) {
    view_ = *s;
  } else if (const auto* b = value.get_if<Binary>()) {
    view_ = b->bytes;
  } else {
    const auto* n = value.get_if<Decimal>();
    FRESHET_CHECK(n != nullptr, "a key is S, N or B");
    n->append_ordered(number_);
    view_ = number_;
  }
}

ItemKey::ItemKey(const Item& item, const KeySchema& keys) : partition_(key_value(item, keys.partition)) {
  if (keys.sort) sort_.emplace(key_value(item, *keys.sort));
  const auto join = [&](const KeyAttributes& attributes, std::string& out) {
    for (const auto* key : attributes) append_joined(out, key->type, KeyBytes(key_value(item, *key)).view());
  };
  if (!keys.more_partition.empty()) join(keys.partition_attributes(), joined_.partition);
  if (!keys.more_sort.empty()) join(keys.sort_attributes(), joined_.sort);
}

KeyView ItemKey::view() const {
  KeyView view{partition_.view(), sort_ ? sort_->view() : std::string_view{}};
  if (!joined_.partition.empty()) view.partition = joined_.partition;
  if (!joined_.sort.empty()) view.sort = joined_.sort;
  return view;
}

Result<void> check_part_size(size_t bytes, bool partition) {
  return check_total(bytes, partition);
}

Result<void> check_partition_size(const KeyAttribute& key, const Value& value) {
  return check_size(key, value, true, {});
}

Result<void> check_key(const Item& key, const KeySchema& keys) {
  if (key.size() != (keys.sort ? 2u : 1u)) return invalid("The provided key element does not match the schema");
  if (auto ok = check_key_attribute(key, keys.partition, true); !ok) return ok;
  return keys.sort ? check_key_attribute(key, *keys.sort, false) : Result<void>{};
}

Result<void> check_item_keys(const Item& item, const KeySchema& keys) {
  if (auto ok = check_item_key(item, keys.partition, true); !ok) return ok;
  return keys.sort ? check_item_key(item, *keys.sort, false) : Result<void>{};
}

namespace {
template <class Find>
Result<void> check_index_part(const KeyAttributes& part, bool partition, const std::string& index, Writer writer,
                              const Find& find) {
  size_t size = 0;
  for (const auto* key : part) {
    const Value* value = find(key->name);
    if (auto ok = check_index_key(value, *key, partition, index, writer); !ok) return ok;
    // As the index counts it, where numbers have bytes, too.
    if (value) size += KeyBytes(*value).view().size();
  }
  return part.size() > 1 ? check_total(size, partition) : Result<void>{};
}

// A bit that differs for most names of other lengths or endings.
uint64_t look_of(std::string_view name) {
  return name.empty() ? 0 : uint64_t{1} << ((name.size() + 5 * static_cast<unsigned char>(name.back())) % 64);
}

// True if each entry or edit of an item that is a key of an index is a plain one, as nearly all are; then no further
// check is needed. `visit(check)` calls check(name, value) for each.
template <class Visit>
bool are_plain_keys(const TableDefinition& definition, const Visit& visit) {
  uint64_t looks = 0;  // The attributes of all keys.
  for (const auto& index : definition.indexes) {
    if (index.keys.is_composite()) return false;
    looks |= look_of(index.keys.partition.name);
    if (index.keys.sort) looks |= look_of(index.keys.sort->name);
  }
  bool plain = true;
  const auto suits = [](const KeyAttribute& key, std::string_view name, const Value& value) {
    return key.name != name || is_plain_key(value, key.type);
  };
  visit([&](std::string_view name, const Value& value) {
    if ((looks & look_of(name)) == 0) return;
    for (const auto& index : definition.indexes) {
      plain = plain && suits(index.keys.partition, name, value) &&
              (!index.keys.sort || suits(*index.keys.sort, name, value));
    }
  });
  return plain;
}

template <class Find>
Result<void> check_index_values(const TableDefinition& definition, Writer writer, const Find& find) {
  for (const auto& index : definition.indexes) {
    const KeySchema& keys = index.keys;
    if (!keys.is_composite()) {
      if (auto ok = check_index_key(find(keys.partition.name), keys.partition, true, index.name, writer); !ok)
        return ok;
      if (!keys.sort) continue;
      if (auto ok = check_index_key(find(keys.sort->name), *keys.sort, false, index.name, writer); !ok) return ok;
      continue;
    }
    if (auto ok = check_index_part(keys.partition_attributes(), true, index.name, writer, find); !ok) return ok;
    if (auto ok = check_index_part(keys.sort_attributes(), false, index.name, writer, find); !ok) return ok;
  }
  return {};
}
}  // namespace

Result<void> check_index_keys(const Item& item, const TableDefinition& definition) {
  const auto each = [&](const auto& check) {
    for (const auto& [name, value] : item) check(name, value);
  };
  if (are_plain_keys(definition, each)) return {};
  return check_index_values(definition, Writer::kPut, [&](const std::string& name) { return item.find(name); });
}

Result<void> check_updated_index_keys(const Item& item, const TableDefinition& definition) {
  return check_index_values(definition, Writer::kUpdate, [&](const std::string& name) { return item.find(name); });
}

Result<void> check_updated_index_keys(std::span<const ItemEdit> edits, const ItemRef& after,
                                      const TableDefinition& definition) {
  const auto each = [&](const auto& check) {
    for (const auto& edit : edits) {
      if (edit.value) check(edit.name, *edit.value);
    }
  };
  if (are_plain_keys(definition, each)) return {};
  const auto find = [&](const std::string& name) -> const Value* {
    for (const auto& edit : edits) {
      if (edit.name == name) return edit.value;
    }
    return nullptr;
  };
  if (auto ok = check_index_values(definition, Writer::kUpdate, find); !ok) return ok;
  // One attribute may make a part of several attributes too long.
  const auto check_part = [&](const KeyAttributes& part, bool partition) -> Result<void> {
    size_t size = 0;
    bool edited = false;
    for (const auto* key : part) {
      const auto value = after.find(key->name);
      edited = edited || find(key->name);
      if (value && value->type() == key->type) size += value->key_bytes().size();
    }
    return edited ? check_total(size, partition) : Result<void>{};
  };
  for (const auto& index : definition.indexes) {
    if (!index.keys.is_composite()) continue;
    if (auto ok = check_part(index.keys.partition_attributes(), true); !ok) return ok;
    if (auto ok = check_part(index.keys.sort_attributes(), false); !ok) return ok;
  }
  return {};
}

Result<void> check_no_empty_index_key(std::span<const ItemEdit> edits, const TableDefinition& definition) {
  return check_index_values(definition, Writer::kUpdate, [&](const std::string& name) -> const Value* {
    for (const auto& edit : edits) {
      if (edit.name == name) return edit.value && content_size(*edit.value) == 0 ? edit.value : nullptr;
    }
    return nullptr;
  });
}

Result<void> check_no_empty_key(const Item& item, const TableDefinition& definition) {
  const auto check = [&](const KeySchema& keys, std::string_view index) -> Result<void> {
    for (const KeyAttribute* key : keys.attributes()) {
      const Value* value = item.find(key->name);
      if (!value || !value->is(key->type) || content_size(*value) > 0) continue;
      if (auto ok = check_size(*key, *value, true, index); !ok) return ok;
    }
    return {};
  };
  if (auto ok = check(definition.keys, {}); !ok) return ok;
  for (const auto& index : definition.indexes) {
    if (auto ok = check(index.keys, index.name); !ok) return ok;
  }
  return {};
}

std::vector<std::string> held_attributes(const TableDefinition& table, const IndexDefinition& index) {
  std::vector<std::string> names;
  if (index.projection == Projection::kAll) return names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const KeySchema* keys : {&table.keys, &index.keys}) {
    for (const auto* key : keys->attributes()) add(key->name);
  }
  for (const auto& name : index.included) add(name);
  return names;
}

Item keys_only(const ItemRef& item, const KeySchema& keys) {
  Item out;
  out.set(keys.partition.name, item.find(keys.partition.name)->decode());
  if (keys.sort) out.set(keys.sort->name, item.find(keys.sort->name)->decode());
  return out;
}

void append_encoded_keys(std::string& out, const ItemRef& item, const KeySchema& keys) {
  std::string_view names[2] = {keys.partition.name, {}};
  if (!keys.sort) return append_encoded(out, item, std::span(names, 1));
  names[1] = keys.sort->name;
  if (names[1] < names[0]) std::swap(names[0], names[1]);
  append_encoded(out, item, names);
}

}  // namespace freshet
