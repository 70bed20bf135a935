// A few names, and where each one's value is in an item: found by a table of the names' looks, so that an entry of the
// item that is none of them costs one look and no comparison.
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
  // As ItemRef::pick() of these names; which ones are there, of the first 64 a bit each. Not of a null ref.
  uint64_t pick(const ItemRef& item, std::string_view* values) const;

 private:
  bool fill(uint32_t factor);

  std::vector<std::string> names_;
  uint32_t factor_ = 0;               // With which no two names look alike; 0 if there is none: too many names.
  std::array<uint8_t, 256> slots_{};  // By looks: one more than the slot of the only name that it can be, or 0.
};

}  // namespace freshet
