// How many live items have their newest copy in which segment of the log: a segment that has none needs no cleaning.
// Loop thread only.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>

#include "base/check.h"
#include "tables/value/item_ref.h"

namespace freshet {

class LiveSegments {
 public:
  // Places of items that are in no segment: their batch is not in the log yet, or they were gone before it was.
  static constexpr uint32_t kUnplaced = UINT32_MAX;
  static constexpr uint32_t kNever = UINT32_MAX - 1;

  // Recovery has found the item, where it says.
  void found(const ItemRef& item) { ++counts_[item.segment()]; }
  // A live item's newest copy is there now. An item that left before it was placed stays without one.
  void place(const ItemRef& item, uint32_t segment) {
    if (item.segment() == kNever) return;
    if (item.segment() != kUnplaced) subtract(item.segment());
    item.set_place(item.creation(), segment);
    ++counts_[segment];
  }
  // The item is no longer in the store. Nobody says so of a deleted table's items: their segments count as live.
  void leave(const ItemRef& item) {
    if (item.segment() == kUnplaced) {
      item.set_place(item.creation(), kNever);
    } else {
      subtract(item.segment());
    }
  }

  // The segment is retired: what it had has been placed elsewhere, or was a deleted table's.
  void forget(uint32_t segment) { counts_.erase(segment); }

  bool has_any(uint32_t segment) const { return counts_.contains(segment); }

 private:
  void subtract(uint32_t segment) {
    const auto it = counts_.find(segment);
    FRESHET_CHECK(it != counts_.end(), "an item leaves a segment that has it");
    if (--it->second == 0) counts_.erase(it);
  }

  absl::flat_hash_map<uint32_t, uint64_t> counts_;  // No zeros.
};

}  // namespace freshet
