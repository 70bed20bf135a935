// Remembers where pages ended in indexes whose ties stand by arrival (ordered_items.h). A start key names an item. If
// that is deleted or put again, the store could not tell from the key which of its ties the page had come to.
//
// The memory is bounded: it keeps the newest places, each until another place needs its room, and none across a
// restart. If a page's place is lost, the next page repeats ties; it never skips one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tables/engine/keys.h"

namespace freshet {

class PagePlaces {
 public:
  // A page ended at the item of that table with this key, which was created as the `creation`-th.
  void note(uint32_t table, const KeyView& key, uint64_t creation);
  // Empty if the place is not known.
  std::optional<uint64_t> find(uint32_t table, const KeyView& key) const;

 private:
  struct Place {
    uint64_t id = 0;
    uint64_t creation = 0;  // 0: none.
  };
  static constexpr size_t kPlaces = 1u << 14;  // 256 KiB, from the first one on.

  std::vector<Place> places_;
};

}  // namespace freshet
