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
  // `names` outlives this.
  Picked(const PickNames& names, const ItemRef& item) : names_(&names.names()), values_(names.names().size()) {
    if (item) item.pick(names.names(), values_.data());
  }
  std::optional<ValueView> operator[](size_t slot) const {
    return values_[slot].empty() ? std::nullopt : std::optional(ValueView(values_[slot]));
  }
  std::string_view encoded(size_t slot) const { return values_[slot]; }
  // What the attribute takes in the item, with its name; 0 if it is not there.
  size_t size_of(size_t slot) const {
    return values_[slot].empty() ? 0 : (*names_)[slot].size() + values_[slot].size() + 1;
  }

 private:
  const std::vector<std::string>* names_;
  absl::InlinedVector<std::string_view, 8> values_;
};

// Where the keys of one secondary index are.
class KeySlots {
 public:
  KeySlots() = default;
  // `keys` outlives this.
  KeySlots(const PickNames& names, const KeySchema& keys) : keys_(&keys) {
    for (const auto* key : keys.partition_attributes()) parts_.push_back({key, names.slot(key->name), true});
    for (const auto* key : keys.sort_attributes()) parts_.push_back({key, names.slot(key->name), false});
  }
  // Empty when the item is not in the index; see IndexKeyBuilder.
  std::optional<KeyView> key(const Picked& picked, JoinedKey& joined) const {
    IndexKeyBuilder builder(*keys_, joined);
    for (const auto& part : parts_) {
      if (!builder.add(*part.key, picked[part.slot], part.partition)) return std::nullopt;
    }
    return builder.key();
  }

 private:
  struct Part {
    const KeyAttribute* key;
    size_t slot;
    bool partition;
  };
  const KeySchema* keys_ = nullptr;
  absl::InlinedVector<Part, 2> parts_;
};

}  // namespace freshet
