// Remembers where pages ended in indexes whose ties stand by arrival (ordered_items.h). A start key names an item. If
// that is deleted or put again, the store could not tell from the key which of its ties the page had come to.
//
// A bounded memory: the newest places are kept, each for as long as no other one needs its room, and none across a
// restart. A page without its place repeats the ties of an item that is gone, and skips none. Only if the item was put
// again meanwhile, and its place is forgotten or noted anew by another reader, the page goes on behind the new place.
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
