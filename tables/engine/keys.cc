#include "tables/engine/keys.h"

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
  if (partition && size > limits::kMaxPartitionKeyBytes) {
    return invalid(
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of 2048 "
        "bytes");
  }
  if (!partition && size > limits::kMaxSortKeyBytes) {
    return invalid(
        "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of "
        "1024 bytes");
  }
  return {};
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

Result<void> check_index_key(const Value* value, const KeyAttribute& attribute, bool partition,
                             std::string_view index) {
  if (!value) return {};
  if (!value->is(attribute.type)) {
    return invalid("One or more parameter values were invalid: Type mismatch for Index Key " + attribute.name +
                   " Expected: " + std::string(type_name(attribute.type)) +
                   " Actual: " + std::string(type_name(value->type())) + " IndexName: " + std::string(index));
  }
  return check_size(attribute, *value, partition, index);
}

const Value& key_value(const Item& item, const KeyAttribute& key) {
  const Value* value = item.find(key.name);
  FRESHET_CHECK(value != nullptr, "the key was checked before");
  return *value;
}

}  // namespace

KeyView key_of(const ItemRef& item, const KeySchema& keys) {
  auto key = index_key_of(item, keys);
  FRESHET_CHECK(key.has_value(), "a stored item has its key");
  return *key;
}

std::optional<KeyView> index_key_of(const ItemRef& item, const KeySchema& keys) {
  return index_key_of(item.encoded(), keys);
}

std::optional<KeyView> index_key_of(std::string_view encoded_item, const KeySchema& keys) {
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
Result<void> check_index_values(const TableDefinition& definition, const Find& find) {
  for (const auto& index : definition.indexes) {
    const auto& [partition, sort] = index.keys;
    if (auto ok = check_index_key(find(partition.name), partition, true, index.name); !ok) return ok;
    if (!sort) continue;
    if (auto ok = check_index_key(find(sort->name), *sort, false, index.name); !ok) return ok;
  }
  return {};
}
}  // namespace

Result<void> check_index_keys(const Item& item, const TableDefinition& definition) {
  return check_index_values(definition, [&](const std::string& name) { return item.find(name); });
}

Result<void> check_index_keys(std::span<const ItemEdit> edits, const TableDefinition& definition) {
  return check_index_values(definition, [&](const std::string& name) -> const Value* {
    for (const auto& edit : edits) {
      if (edit.name == name) return edit.value;
    }
    return nullptr;
  });
}

Result<void> check_no_empty_key(const Item& item, const TableDefinition& definition) {
  const auto check = [&](const KeySchema& keys, std::string_view index) -> Result<void> {
    for (const KeyAttribute* key : {&keys.partition, keys.sort ? &*keys.sort : nullptr}) {
      const Value* value = key ? item.find(key->name) : nullptr;
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
