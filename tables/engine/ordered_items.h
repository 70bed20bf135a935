// One ordered structure for main tables and secondary indexes alike: a B-tree of 24-byte entries in the order
//     (seeded hash of the partition key, partition key, sort key [, creation sequence])
// where the first eight bytes of the sort key stand beside the hash, so that a comparison follows the pointer into the
// item only on ties. A scan walks it from end to end; a partition is a range; a segment of a parallel scan is a range
// of hashes.
//
// Between colliding hashes of two partitions the sort key's prefix decides first, so a range of one partition may hold
// entries of another one (in practice never): readers skip entries whose partition is not theirs (holds()).
//
// Loop thread only. Iterators are valid until the next change.
#pragma once

#include <absl/container/btree_set.h>

#include <cstdint>
#include <string_view>

#include "tables/engine/keys.h"

namespace freshet {

class OrderedItems {
 public:
  struct Entry {
    uint64_t hash;
    uint64_t prefix;       // Of the sort key, big-endian, zero-padded.
    mutable ItemRef item;  // Replaced in place when only other attributes changed.
  };

  // A place between entries.
  struct Probe {
    enum class Side : int8_t { kBeforeHash = -1, kKey = 0, kAfterHash = 1 };
    uint64_t hash = 0;
    uint64_t prefix = 0;
    std::string_view partition;
    std::string_view sort;
    uint64_t creation = 0;   // Of secondary indexes.
    Side side = Side::kKey;  // Before or after everything of that hash, or at the key.
  };

  // Where a key stands, or would; found once by whoever plans a write and used when it is applied, if nothing was added
  // or removed in between.
  struct Place;

  enum class Kind { kMain /* keys are unique */, kSecondary /* ties in creation order, sparse */ };

 private:
  struct Order {
    using is_transparent = void;
    const OrderedItems* owner;
    // Nearly always the two words decide: that much is inline.
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.hash != b.hash) return a.hash < b.hash;
      return a.prefix != b.prefix ? a.prefix < b.prefix : owner->compare_ties(a, b) < 0;
    }
    bool operator()(const Entry& a, const Probe& b) const {
      return a.hash != b.hash ? a.hash < b.hash : owner->compare_same_hash(a, b) < 0;
    }
    bool operator()(const Probe& a, const Entry& b) const {
      return a.hash != b.hash ? a.hash < b.hash : owner->compare_same_hash(b, a) > 0;
    }
  };

 public:
  using Set = absl::btree_set<Entry, Order>;
  using Iterator = Set::const_iterator;

  OrderedItems(KeySchema keys, Kind kind, uint64_t seed);
  OrderedItems(const OrderedItems&) = delete;
  OrderedItems& operator=(const OrderedItems&) = delete;

  const KeySchema& keys() const { return keys_; }
  size_t size() const { return set_.size(); }
  uint64_t hash(std::string_view partition) const;

  // Main tables. The item with that key, or null; valid until the next change.
  const ItemRef* find(const KeyView& key) const;
  Place place(const KeyView& key) const;
  // What a write did at that place; `before` is what stands there. Null refs for absent, not both.
  void change(const Place& place, const ItemRef& before, const ItemRef& after);

  // Secondary indexes. What a write did; keys are empty where the item is not in the index.
  void change(const ItemRef& before, const std::optional<KeyView>& old_key, const ItemRef& after,
              const std::optional<KeyView>& new_key);

  // Of a main table: puts the item in the place of what has its key; gives that back.
  ItemRef put(ItemRef item);
  void clear() { set_.clear(); }

  Iterator begin() const { return set_.begin(); }
  Iterator end() const { return set_.end(); }
  // The first entry not before the place.
  Iterator at(const Probe& place) const { return set_.lower_bound(place); }
  // Of a main table: the first entry after the place of that item, which need not be there.
  Iterator after(const ItemRef& item) const;
  // Of a main table: whether `a` stands before `b`.
  bool precedes(const ItemRef& a, const ItemRef& b) const;
  Probe probe(const KeyView& key, uint64_t creation) const;
  // Whether the entry belongs to that partition.
  bool holds(const Entry& entry, std::string_view partition) const;

 private:
  int compare(const Entry& a, const Probe& b) const;
  int compare_same_hash(const Entry& a, const Probe& b) const;
  int compare_ties(const Entry& a, const Entry& b) const;
  Entry entry(const KeyView& key, const ItemRef& item) const;

  const KeySchema keys_;
  const bool by_creation_;
  const uint64_t seed_;
  Set set_;
  uint64_t version_ = 0;  // Of the set's shape: rises when an entry is added or removed.
};

struct OrderedItems::Place {
  Iterator at;  // The first entry not before the key.
  bool found = false;
  uint64_t version = UINT64_MAX;  // Known nowhere.
  const ItemRef* item() const { return found ? &at->item : nullptr; }
};

}  // namespace freshet
