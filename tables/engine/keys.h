// Keys of tables and indexes: their order bytes, and the checks on what clients hand in as keys.
//
// Order bytes: strings and binaries as they are, numbers in their ordered form, so that memcmp orders them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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
// The key of an item in a secondary index; empty when the item lacks one of its attributes (sparse).
std::optional<KeyView> index_key_of(const ItemRef& item, const KeySchema& keys);
// The same of an item's encoding; see find_attribute().
std::optional<KeyView> index_key_of(std::string_view encoded_item, const KeySchema& keys);

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
  KeyView view() const { return {partition_.view(), sort_ ? sort_->view() : std::string_view{}}; }

 private:
  KeyBytes partition_;
  std::optional<KeyBytes> sort_;
};

// A key as GetItem, UpdateItem and DeleteItem take it: exactly the key attributes, of the right types and sizes.
Result<void> check_key(const Item& key, const KeySchema& keys);
// The table's key attributes in an item that is put.
Result<void> check_item_keys(const Item& item, const KeySchema& keys);
// Attributes of an item that are keys of secondary indexes: absent, or of the right type and size.
Result<void> check_index_keys(const Item& item, const TableDefinition& definition);
Result<void> check_index_keys(std::span<const ItemEdit> edits, const TableDefinition& definition);

// Refuses empty strings and binaries as key values of the table or its indexes; says nothing about other faults.
Result<void> check_no_empty_key(const Item& item, const TableDefinition& definition);

// Only the key attributes of a stored item; their encoding.
Item keys_only(const ItemRef& item, const KeySchema& keys);
void append_encoded_keys(std::string& out, const ItemRef& item, const KeySchema& keys);

}  // namespace freshet
