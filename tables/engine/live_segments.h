// Counts, for each segment of the log, the live items whose newest copy is in it: a segment without any needs no
// cleaning. Loop thread only.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>

#include "base/check.h"
#include "tables/value/item_ref.h"

namespace freshet {

class LiveSegments {
 public:
  // The segment of items that are in none: their batch is not in the log yet, or they were removed before it was.
  static constexpr uint32_t kUnplaced = UINT32_MAX;
  static constexpr uint32_t kNever = UINT32_MAX - 1;

  // Recovery has found the item in its segment.
  void found(const ItemRef& item) { ++counts_[item.segment()]; }
  // The newest copy of a live item is now in `segment`. An item that left the store before it was placed stays without
  // a segment.
  void place(const ItemRef& item, uint32_t segment) {
    if (item.segment() == kNever) return;
    if (item.segment() != kUnplaced) subtract(item.segment());
    item.set_place(item.creation(), segment);
    ++counts_[segment];
  }
  // The item is no longer in the store. This is not called for the items of a deleted table: their segments count as
  // live.
  void leave(const ItemRef& item) {
    if (item.segment() == kUnplaced) {
      item.set_place(item.creation(), kNever);
    } else {
      subtract(item.segment());
    }
  }

  // The segment is retired: its items have been placed elsewhere, or belonged to a deleted table.
  void forget(uint32_t segment) { counts_.erase(segment); }

  bool has_any(uint32_t segment) const { return counts_.contains(segment); }

 private:
  void subtract(uint32_t segment) {
    const auto it = counts_.find(segment);
    FRESHET_CHECK(it != counts_.end(), "an item leaves a segment that has it");
    if (--it->second == 0) counts_.erase(it);
  }

  absl::flat_hash_map<uint32_t, uint64_t> counts_;  // Has no zeros.
};

}  // namespace freshet
