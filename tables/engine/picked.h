// The few attributes of an item that a table's structures use (keys of indexes, TTL, status), found in one walk over
// the item instead of one walk each.
#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/engine/keys.h"
#include "tables/value/item_ref.h"
#include "tables/value/name_slots.h"

namespace freshet {

// Sorted names; a name's slot is its index among them.
class PickNames {
 public:
  PickNames() = default;
  explicit PickNames(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    slots_ = NameSlots(std::move(names));
  }
  // Returns the slot of `name`, which must be one of the names.
  size_t slot(std::string_view name) const {
    return static_cast<size_t>(std::lower_bound(names().begin(), names().end(), name) - names().begin());
  }
  const std::vector<std::string>& names() const { return slots_.names(); }
  uint64_t pick(const ItemRef& item, std::string_view* values) const { return slots_.pick(item, values); }

 private:
  NameSlots slots_;
};

// Encoded values by slot; views into the item, which outlives this. A null ref has no values.
class Picked {
 public:
  // `names` outlives this.
  Picked(const PickNames& names, const ItemRef& item) : names_(&names.names()), values_(names.names().size()) {
    if (item) there_ = names.pick(item, values_.data());
  }
  std::optional<ValueView> operator[](size_t slot) const {
    return values_[slot].empty() ? std::nullopt : std::optional(ValueView(values_[slot]));
  }
  std::string_view encoded(size_t slot) const { return values_[slot]; }
  // Returns false if one of these attributes is missing. True does not cover attributes beyond the mask's 64 slots.
  bool may_have(uint64_t mask) const { return (mask & ~there_) == 0; }
  // The bit of the slot in a mask; 0 for slots beyond 64.
  static uint64_t mask_of(size_t slot) { return slot < 64 ? uint64_t{1} << slot : 0; }
  // The size of the attribute in the item, with its name; 0 if it is missing.
  size_t size_of(size_t slot) const {
    return values_[slot].empty() ? 0 : (*names_)[slot].size() + values_[slot].size() + 1;
  }

 private:
  const std::vector<std::string>* names_;
  uint64_t there_ = 0;
  absl::InlinedVector<std::string_view, 8> values_;
};

// The slots of the keys of one secondary index.
class KeySlots {
 public:
  KeySlots() = default;
  // `keys` outlives this.
  KeySlots(const PickNames& names, const KeySchema& keys) : keys_(&keys) {
    for (const auto* key : keys.partition_attributes()) parts_.push_back({key, names.slot(key->name), true});
    for (const auto* key : keys.sort_attributes()) parts_.push_back({key, names.slot(key->name), false});
    for (const auto& part : parts_) mask_ |= Picked::mask_of(part.slot);
  }
  // Returns false if the item lacks one of these attributes: indexes are sparse.
  bool may_be_in(const Picked& picked) const { return picked.may_have(mask_); }
  // Empty if the item is not in the index; see IndexKeyBuilder.
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
  uint64_t mask_ = 0;
};

}  // namespace freshet
