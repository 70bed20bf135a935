// The items that a table already has, as hashes: 16 bytes for each, and a bounded number of them. In memory only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/engines/digest.h"

namespace freshet::engines {

class KnownItems {
 public:
  // kUnsure: look into the table. It has the item with other content, an item whose key has the same hash, or more
  // items than are known here.
  enum class Is { kThere, kAbsent, kUnsure };

  explicit KnownItems(size_t most) : most_(most) {}

  // Returns false once there are too many: that item and all further ones are not known.
  bool add(const Fingerprint& key, const Fingerprint& whole) {
    if (items_.size() >= most_) return is_complete_ = false;
    items_.push_back({key.words[0], whole.words[0]});
    return true;
  }
  // Call it after the last add().
  void sort() {
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
  }
  Is look(const Fingerprint& key, const Fingerprint& whole) const {
    const auto at = std::lower_bound(items_.begin(), items_.end(), key.words[0],
                                     [](const Item& item, uint64_t wanted) { return item.key < wanted; });
    const bool found = at != items_.end() && at->key == key.words[0];
    if (found) return at->whole == whole.words[0] ? Is::kThere : Is::kUnsure;
    return is_complete_ ? Is::kAbsent : Is::kUnsure;
  }

 private:
  struct Item {
    uint64_t key;
    uint64_t whole;
  };
  const size_t most_;
  bool is_complete_ = true;
  std::vector<Item> items_;
};

}  // namespace freshet::engines
