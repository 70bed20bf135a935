// Finds the values of a few names in an item. A table of hashes of the names rules out an entry with another name by
// one look-up, without a comparison.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tables/value/item_ref.h"

namespace freshet {

// A value type; never changes. Any thread.
class NameSlots {
 public:
  NameSlots() = default;
  explicit NameSlots(std::vector<std::string> names);  // Sorted and unique.

  const std::vector<std::string>& names() const { return names_; }
  // As ItemRef::pick() with these names; returns a bit for each of the first 64 that is present. Needs an
  // item.
  uint64_t pick(const ItemRef& item, std::string_view* values) const;

 private:
  bool fill(uint32_t factor);

  std::vector<std::string> names_;
  uint32_t factor_ = 0;               // Gives no two names the same hash; 0 if there is none (too many names).
  std::array<uint8_t, 256> slots_{};  // By hash: one more than the slot of the only name with that hash, or 0.
};

}  // namespace freshet
