// Hands out the items that a table had at one moment, in steps, while writes go on. Items are immutable and
// reference-counted: if a write replaces an item that was not handed out yet, the old item is kept until then, and the
// new one is skipped. Loop thread only.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <vector>

#include "tables/engine/ordered_items.h"

namespace freshet {

class Snapshot {
 public:
  // Takes the snapshot now. `items` outlives it, and every later change must be reported to change().
  explicit Snapshot(const OrderedItems& items) : items_(items) {}
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Reports a write to the table. Null refs mean absent; not both.
  void change(const ItemRef& before, const ItemRef& after);
  // Appends the next items to `out`: all that writes have replaced since the last call, and more, up to `count` items
  // and about `bytes`. Returns false when there are no more.
  bool take(size_t count, size_t bytes, std::vector<ItemRef>& out);

 private:
  bool has_passed(const ItemRef& item) const { return last_ && !items_.precedes(last_, item); }

  const OrderedItems& items_;
  ItemRef last_;  // All items up to this one, in the table's order, have been handed out. The table may no longer have
                  // it.
  bool done_ = false;
  // Beyond `last_`: items in the table that are younger than the snapshot, and older ones that the table no longer has.
  absl::flat_hash_set<const void*> younger_;
  std::vector<ItemRef> replaced_;
};

}  // namespace freshet
