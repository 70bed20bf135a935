// Keys of tables and indexes: the bytes that order them, and the checks on the keys that clients send.
//
// Order bytes: strings and binaries unchanged, numbers in their ordered form, so that memcmp orders them. Where a part
// of the key has several attributes (global indexes), they are joined so that memcmp orders by the first attribute,
// then the next, and no two keys give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "tables/definition.h"
#include "tables/value/item_ref.h"

namespace freshet {

// Order bytes of one item's key; views into the object they were made from. `sort` is empty without a sort key.
struct KeyView {
  std::string_view partition;
  std::string_view sort;
  bool operator==(const KeyView&) const = default;
};

// The key of a stored item, which is present and of the right type.
KeyView key_of(const ItemRef& item, const KeySchema& keys);
// The key of an item of a table, or empty if it lacks a key attribute. For an item's encoding, see
// find_attribute().
std::optional<KeyView> table_key_of(const ItemRef& item, const KeySchema& keys);
std::optional<KeyView> table_key_of(std::string_view encoded_item, const KeySchema& keys);

// Owns joined order bytes: the views of a key with several attributes a part point into it.
struct JoinedKey {
  std::string partition;
  std::string sort;
};
// Appends one of several attributes.
void append_joined(std::string& out, Type type, std::string_view order_bytes);
// Appends the beginning of a value: a prefix of the joined bytes of all values that begin with it. For strings and
// binaries.
void append_joined_begin(std::string& out, std::string_view order_bytes);

// Collects attributes, those of the partition first, into the key of a secondary index.
class IndexKeyBuilder {
 public:
  // Both outlive the key.
  IndexKeyBuilder(const KeySchema& keys, JoinedKey& joined) : keys_(keys), joined_(joined) {}
  // Returns false if the item is not in the index: its value is of another type, empty, or too long.
  bool add(const KeyAttribute& key, std::optional<ValueView> value, bool partition) {
    if (!value || value->type() != key.type) return false;
    const std::string_view bytes = value->key_bytes();
    size_t& size = partition ? partition_bytes_ : sort_bytes_;
    size += bytes.size();
    if (bytes.empty() || size > (partition ? limits::kMaxPartitionKeyBytes : limits::kMaxSortKeyBytes)) return false;
    const bool alone = (partition ? keys_.more_partition : keys_.more_sort).empty();
    (partition ? key_.partition : key_.sort) = alone ? bytes : join(key.type, bytes, partition);
    return true;
  }
  const KeyView& key() const { return key_; }

 private:
  std::string_view join(Type type, std::string_view bytes, bool partition);

  const KeySchema& keys_;
  JoinedKey& joined_;
  KeyView key_;
  size_t partition_bytes_ = 0;
  size_t sort_bytes_ = 0;
};
// The key of an item in a secondary index; empty if the item is not in it.
std::optional<KeyView> index_key_of(const ItemRef& item, const KeySchema& keys, JoinedKey& joined);

// Order bytes of one decoded key value. Cannot be copied or moved: the view may point into the object itself.
class KeyBytes {
 public:
  explicit KeyBytes(const Value& value);  // `value` is S, N or B; it outlives this object unless it is a number.
  KeyBytes(const KeyBytes&) = delete;
  KeyBytes& operator=(const KeyBytes&) = delete;
  std::string_view view() const { return view_; }

 private:
  std::string number_;
  std::string_view view_;
};

// The key of `item`, whose attributes check_key() or check_item_keys() has checked.
class ItemKey {
 public:
  ItemKey(const Item& item, const KeySchema& keys);
  KeyView view() const;

 private:
  KeyBytes partition_;
  std::optional<KeyBytes> sort_;
  JoinedKey joined_;  // Used where a part has several attributes.
};

// Checks the size of one part of a key; `bytes` is the sum of its values.
Result<void> check_part_size(size_t bytes, bool partition);
// Checks the size of a value that a query compares with the partition key.
Result<void> check_partition_size(const KeyAttribute& key, const Value& value);
// Checks a key of GetItem, UpdateItem or DeleteItem: exactly the key attributes, of the right types and sizes.
Result<void> check_key(const Item& key, const KeySchema& keys);
// Checks the table's key attributes in an item that is put.
Result<void> check_item_keys(const Item& item, const KeySchema& keys);
// Checks the attributes of an item that are keys of secondary indexes: absent, or of the right type and size.
Result<void> check_index_keys(const Item& item, const TableDefinition& definition);
// The same check for the result of an update or of edits; `after` is the item with them.
Result<void> check_updated_index_keys(const Item& item, const TableDefinition& definition);
Result<void> check_updated_index_keys(std::span<const ItemEdit> edits, const ItemRef& after,
                                      const TableDefinition& definition);

// Checks only that an update makes no key of an index empty.
Result<void> check_no_empty_index_key(std::span<const ItemEdit> edits, const TableDefinition& definition);
// Refuses empty strings and binaries as key values of the table or its indexes; ignores other faults.
Result<void> check_no_empty_key(const Item& item, const TableDefinition& definition);

// The attributes that the entries of an index hold, each once; empty means all.
std::vector<std::string> held_attributes(const TableDefinition& table, const IndexDefinition& index);

// The key attributes of a stored item, decoded or encoded.
Item keys_only(const ItemRef& item, const KeySchema& keys);
void append_encoded_keys(std::string& out, const ItemRef& item, const KeySchema& keys);

}  // namespace freshet
