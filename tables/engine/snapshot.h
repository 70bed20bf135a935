// The items of a table as they were at one moment, handed out in steps while writes go on. Items are immutable and
// reference-counted: what a write replaces before the walk has come to it is kept until it is handed out, and what the
// write made is passed over. Loop thread only.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <vector>

#include "tables/engine/ordered_items.h"

namespace freshet {

class Snapshot {
 public:
  // Holds the items of now; `items` outlives it and must report every change from now on.
  explicit Snapshot(const OrderedItems& items) : items_(items) {}
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // A write to the table. Null refs for absent, not both.
  void change(const ItemRef& before, const ItemRef& after);
  // Appends the next items to `out`: all that writes have replaced since, and others up to `count` items and about
  // `bytes`. False when there are no more.
  bool take(size_t count, size_t bytes, std::vector<ItemRef>& out);

 private:
  bool has_passed(const ItemRef& item) const { return last_ && !items_.precedes(last_, item); }

  const OrderedItems& items_;
  ItemRef last_;  // All up to it, in the order of the table, have been handed out. It may be gone from there.
  bool done_ = false;
  // Beyond `last_`: blocks in the table that are younger than the snapshot, and older ones that are no longer there.
  absl::flat_hash_set<const void*> younger_;
  std::vector<ItemRef> replaced_;
};

}  // namespace freshet
