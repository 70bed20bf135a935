// Remembers where pages ended in indexes that order equal keys by arrival (ordered_items.h). A start key names an item.
// If that item is deleted or put again, the key alone does not tell which of the equal entries the page had reached.
//
// The memory is bounded: it keeps the newest positions, each until its slot is reused, and none across a restart. A
// page without its position repeats the entries that tie with a deleted item, and skips none. Only if the item was put
// again, and its position was forgotten or replaced by another reader, does the page continue behind the new position.
// Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tables/engine/keys.h"

namespace freshet {

class PagePlaces {
 public:
  // Records that a page ended at the item of that table with this key, which was the `creation`-th to be created.
  void note(uint32_t table, const KeyView& key, uint64_t creation);
  // Empty if the position is not known.
  std::optional<uint64_t> find(uint32_t table, const KeyView& key) const;

 private:
  struct Entry {
    uint64_t id = 0;
    uint64_t creation = 0;  // 0 means none.
  };
  static constexpr size_t kPlaces = 1u << 14;  // 256 KiB, allocated with the first one.

  std::vector<Entry> places_;
};

}  // namespace freshet
