// Keys of tables and indexes: their order bytes, and the checks on what clients hand in as keys.
//
// Order bytes: strings and binaries as they are, numbers in their ordered form, so that memcmp orders them. Where a
// part of the key has several attributes (global indexes), they are joined so that memcmp orders by the first, then the
// next, and no two keys give the same bytes.
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

// Order bytes of one item's key; views into whatever they were made from. `sort` is empty without a sort key.
struct KeyView {
  std::string_view partition;
  std::string_view sort;
  bool operator==(const KeyView&) const = default;
};

// The key of an item that is stored in the table: it is there and of the right type.
KeyView key_of(const ItemRef& item, const KeySchema& keys);
// The key of an item of a table, or empty when it lacks one of its attributes. Of an item's encoding, see
// find_attribute().
std::optional<KeyView> table_key_of(const ItemRef& item, const KeySchema& keys);
std::optional<KeyView> table_key_of(std::string_view encoded_item, const KeySchema& keys);

// Joined order bytes: the views of a key that has such point into it.
struct JoinedKey {
  std::string partition;
  std::string sort;
};
// Appends one attribute of several.
void append_joined(std::string& out, Type type, std::string_view order_bytes);
// The same for the begin of one that goes on: what all begin with whose value begins so. Of strings and binaries.
void append_joined_begin(std::string& out, std::string_view order_bytes);

// Collects an attribute after the other, those of the partition first, into the key of a secondary index.
class IndexKeyBuilder {
 public:
  // Both outlive the key.
  IndexKeyBuilder(const KeySchema& keys, JoinedKey& joined) : keys_(keys), joined_(joined) {}
  // False when the item is not in the index: what it has there is of another type, empty, or too long.
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
// The key of an item in a secondary index; empty when it is not in there.
std::optional<KeyView> index_key_of(const ItemRef& item, const KeySchema& keys, JoinedKey& joined);

// Order bytes of one decoded key value. Neither copied nor moved: the view may point into itself.
class KeyBytes {
 public:
  explicit KeyBytes(const Value& value);  // S, N or B; outlives this object unless a number.
  KeyBytes(const KeyBytes&) = delete;
  KeyBytes& operator=(const KeyBytes&) = delete;
  std::string_view view() const { return view_; }

 private:
  std::string number_;
  std::string_view view_;
};

// The key attributes of `item`, checked by check_key() or check_item_keys() before.
class ItemKey {
 public:
  ItemKey(const Item& item, const KeySchema& keys);
  KeyView view() const;

 private:
  KeyBytes partition_;
  std::optional<KeyBytes> sort_;
  JoinedKey joined_;  // Empty where a part has one attribute.
};

// Checks the size of a part of a key, all of whose values together have that many bytes.
Result<void> check_part_size(size_t bytes, bool partition);
// Checks the size of a value that a query asks the partition key for.
Result<void> check_partition_size(const KeyAttribute& key, const Value& value);
// A key as GetItem, UpdateItem and DeleteItem take it: exactly the key attributes, of the right types and sizes.
Result<void> check_key(const Item& key, const KeySchema& keys);
// The table's key attributes in an item that is put.
Result<void> check_item_keys(const Item& item, const KeySchema& keys);
// Attributes of an item that are keys of secondary indexes: absent, or of the right type and size.
Result<void> check_index_keys(const Item& item, const TableDefinition& definition);
// The same of what an update makes of it, or of those that edits have changed; `after` is the item with them.
Result<void> check_updated_index_keys(const Item& item, const TableDefinition& definition);
Result<void> check_updated_index_keys(std::span<const ItemEdit> edits, const ItemRef& after,
                                      const TableDefinition& definition);

// Only that an update makes no key of an index empty.
Result<void> check_no_empty_index_key(std::span<const ItemEdit> edits, const TableDefinition& definition);
// Refuses empty strings and binaries as key values of the table or its indexes; says nothing about other faults.
Result<void> check_no_empty_key(const Item& item, const TableDefinition& definition);

// The attributes that the entries of an index hold, each once; empty for all.
std::vector<std::string> held_attributes(const TableDefinition& table, const IndexDefinition& index);

// Only the key attributes of a stored item; their encoding.
Item keys_only(const ItemRef& item, const KeySchema& keys);
void append_encoded_keys(std::string& out, const ItemRef& item, const KeySchema& keys);

}  // namespace freshet
