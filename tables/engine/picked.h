// The few attributes of an item that a table's structures look at (keys of indexes, TTL, status), found in one walk
// over the item instead of one each.
#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/engine/keys.h"
#include "tables/value/item_ref.h"

namespace freshet {

// Sorted names; a slot is a name's place among them.
class PickNames {
 public:
  PickNames() = default;
  explicit PickNames(std::vector<std::string> names) : names_(std::move(names)) {
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  }
  // The name must be one of them.
  size_t slot(std::string_view name) const {
    return static_cast<size_t>(std::lower_bound(names_.begin(), names_.end(), name) - names_.begin());
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// Encoded values by slot; views into the item, which outlives this. Of a null ref: nothing is there.
class Picked {
 public:
  Picked(const PickNames& names, const ItemRef& item) : values_(names.names().size()) {
    if (item) item.pick(names.names(), values_.data());
  }
  std::optional<ValueView> operator[](size_t slot) const {
    return values_[slot].empty() ? std::nullopt : std::optional(ValueView(values_[slot]));
  }
  std::string_view encoded(size_t slot) const { return values_[slot]; }

 private:
  absl::InlinedVector<std::string_view, 8> values_;
};

// Where the keys of one schema are.
class KeySlots {
 public:
  KeySlots() = default;
  KeySlots(const PickNames& names, const KeySchema& keys)
      : partition_(names.slot(keys.partition.name)), partition_type_(keys.partition.type), sorted_(keys.sort) {
    if (!sorted_) return;
    sort_ = names.slot(keys.sort->name);
    sort_type_ = keys.sort->type;
  }
  // Empty when an attribute of the key is missing.
  std::optional<KeyView> key(const Picked& picked) const {
    const auto partition = picked[partition_];
    if (!partition || partition->type() != partition_type_) return std::nullopt;
    KeyView view{partition->key_bytes(), {}};
    if (!sorted_) return view;
    const auto sort = picked[sort_];
    if (!sort || sort->type() != sort_type_) return std::nullopt;
    view.sort = sort->key_bytes();
    return view;
  }

 private:
  size_t partition_ = 0;
  size_t sort_ = 0;
  Type partition_type_ = Type::kString;
  Type sort_type_ = Type::kString;
  bool sorted_ = false;
};

}  // namespace freshet
