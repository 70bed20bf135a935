// One ordered structure for main tables and secondary indexes alike: a B-tree of 24-byte entries in the order
//     main table:       (seeded hash of the partition key, partition key, sort key)
// secondary index:  (seeded hash of the partition key, sort key, then the order of ties: see Kind)
// where the first eight bytes of the sort key stand beside the hash, so that a comparison follows the pointer into the
// item only on ties. A scan walks it from end to end; a partition is a range; a segment of a parallel scan is a range
// of hashes.
//
// If the hashes of two partitions collide, a range of one partition may hold entries of the other (in practice never):
// readers skip entries of other partitions (holds()).
//
// Loop thread only. Iterators are valid until the next change.
#pragma once

#include <absl/types/compare.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tables/engine/keys.h"
#include "tables/engine/sharded_set.h"

namespace freshet {

class OrderedItems {
 public:
  struct Entry {
    uint64_t hash;
    uint64_t prefix;       // The first bytes of the sort key, big-endian, zero-padded.
    mutable ItemRef item;  // Replaced in place if only other attributes changed.
  };

  // A position between entries, or the position of an entry.
  struct Probe {
    enum class Side : int8_t { kBeforeHash = -1, kKey = 0, kAfterHash = 1 };
    // In a secondary index: before or after all entries of this key, or at one of them.
    enum class Tie : int8_t { kBefore = -1, kAt = 0, kAfter = 1 };
    uint64_t hash = 0;
    uint64_t prefix = 0;
    std::string_view partition;
    std::string_view sort;
    Side side = Side::kKey;  // Before or after all entries of this hash, or at the key.
    Tie tie = Tie::kBefore;
    // Selects the entry among equal keys, for Tie::kAt. kByArrival: by the creation sequence. kByKey: by the table's
    // key, or the item that has it; the item's key is computed when it is first needed.
    uint64_t creation = 0;
    mutable std::optional<KeyView> beside{};
    const ItemRef* item = nullptr;
  };

  // The position of a key, or where it would be inserted. A planner finds it once; applying the write uses it if no
  // entry was added or removed in between.
  struct Position;

  // Keys of a main table are unique. Secondary indexes are sparse, and their keys are not unique. Entries of equal keys
  // stand in the order of the table's key (kByKey), so that a key says where a page ended even if its item is gone;
  // or in the order in which their items were created (kByArrival).
  enum class Kind { kMain, kByKey, kByArrival };

 private:
  struct Order {
    using is_transparent = void;
    const OrderedItems* owner;
    // The two words nearly always decide, so only their comparison is inline.
    absl::weak_ordering operator()(const Entry& a, const Entry& b) const {
      if (a.hash != b.hash) return order_of(a.hash < b.hash);
      return a.prefix != b.prefix ? order_of(a.prefix < b.prefix) : order_of(owner->compare_ties(a, b));
    }
    absl::weak_ordering operator()(const Entry& a, const Probe& b) const {
      return a.hash != b.hash ? order_of(a.hash < b.hash) : order_of(owner->compare_same_hash(a, b));
    }
    absl::weak_ordering operator()(const Probe& a, const Entry& b) const {
      return a.hash != b.hash ? order_of(a.hash < b.hash) : order_of(-owner->compare_same_hash(b, a));
    }
    static absl::weak_ordering order_of(bool less) {
      return less ? absl::weak_ordering::less : absl::weak_ordering::greater;
    }
    static absl::weak_ordering order_of(int c) {
      return c < 0 ? absl::weak_ordering::less : c > 0 ? absl::weak_ordering::greater : absl::weak_ordering::equivalent;
    }
  };

 public:
  using Set = ShardedSet<Entry, Order>;
  using Iterator = Set::const_iterator;

  // `main_keys`: the table's keys, if `keys` belong to a secondary index.
  OrderedItems(KeySchema keys, Kind kind, uint64_t seed, KeySchema main_keys = {});
  OrderedItems(const OrderedItems&) = delete;
  OrderedItems& operator=(const OrderedItems&) = delete;

  const KeySchema& keys() const { return keys_; }
  Kind kind() const { return kind_; }
  size_t size() const { return set_.size(); }
  // Bytes that the entries take, without the items.
  size_t memory() const { return set_.memory(); }
  uint64_t hash(std::string_view partition) const;

  // Main tables: the item with that key, or null; valid until the next change.
  const ItemRef* find(const KeyView& key) const;
  Position place(const KeyView& key) const;
  // Prefetches partitions, by hash(), that are about to be looked up.
  void prefetch(std::span<const uint64_t> hashes) const { set_.prefetch(hashes); }
  // Applies a write at that position, where `before` is now. Null refs mean absent; not both.
  void change(const Position& place, const ItemRef& before, const ItemRef& after);

  // Secondary indexes: applies a write; a key is empty where the item is not in the index.
  void change(const ItemRef& before, const std::optional<KeyView>& old_key, const ItemRef& after,
              const std::optional<KeyView>& new_key);

  // Recovery: what the log says about a key of a main table. The item is put, or removed (then only its key matters).
  // Many are applied at once, sorted, so that a large tree is walked in order; `changed(before, after)` is called for
  // each.
  struct Load {
    Entry entry;
    bool gone = false;
  };
  Load load(const ItemRef& item, bool gone) const { return {entry(key_of(item, keys_), item), gone}; }
  template <class Changed>
  void apply(std::vector<Load>& loads, Changed&& changed) {
    sort_by_words(loads);
    for (std::span<Load> rest(loads); !rest.empty();) {
      const std::span<Load> run = first_run(rest);
      if (have_one_key(run)) {
        apply_versions(run, changed);
      } else {
        sort_by_key(run);
        for (Load& load : run) apply_versions(std::span(&load, 1), changed);
      }
      rest = rest.subspan(run.size());
    }
    loads.clear();
  }
  // Fills an empty secondary index: indexed() makes each entry, fill() takes all of them.
  Entry indexed(const KeyView& key, const ItemRef& item) const { return entry(key, item); }
  void fill(std::vector<Entry> entries);

  // Drops up to `limit` entries, the last first; returns their number.
  size_t drop(size_t limit) { return set_.drop(limit); }

  Iterator begin() const { return set_.begin(); }
  Iterator end() const { return set_.end(); }
  // at(): the first entry not before the position. after(): the first one behind it.
  Iterator at(const Probe& place) const { return set_.lower_bound(place); }
  Iterator after(const Probe& place) const { return set_.upper_bound(place); }
  // Main tables: the first entry after the position of that item, which need not be present.
  Iterator after(const ItemRef& item) const;
  // Main tables: true if `a` stands before `b`.
  bool precedes(const ItemRef& a, const ItemRef& b) const;
  Probe probe(const KeyView& key, Probe::Tie tie = Probe::Tie::kBefore) const {
    return probe_of(hash(key.partition), key, tie);
  }
  // The positions before and after all entries with this hash.
  static Probe before_hash(uint64_t hash) { return {hash, 0, {}, {}, Probe::Side::kBeforeHash}; }
  static Probe after_hash(uint64_t hash) { return {hash, 0, {}, {}, Probe::Side::kAfterHash}; }
  // True if the entry belongs to that partition.
  bool holds(const Entry& entry, std::string_view partition) const;

 private:
  // Loads are sorted by hash and prefix first, which needs no look into the items: a log has most keys once, or many
  // versions of one key. A run is what has both words in common.
  static void sort_by_words(std::vector<Load>& loads);
  static std::span<Load> first_run(std::span<Load> loads);
  bool have_one_key(std::span<const Load> run) const;
  void sort_by_key(std::span<Load> run) const;
  // Applies the versions of one key, the oldest first. The tree sees the last one only.
  template <class Changed>
  void apply_versions(std::span<Load> versions, Changed& changed) {
    const auto place = set_.place(versions.front().entry);
    const ItemRef none;
    const ItemRef* now = place.found() ? &place->item : nullptr;
    for (const Load& load : versions) {
      const ItemRef* next = load.gone ? nullptr : &load.entry.item;
      if (now || next) changed(now ? *now : none, next ? *next : none);
      now = next;
    }
    if (place.found() && now) {
      place->item = std::move(versions.back().entry.item);
    } else if (place.found()) {
      set_.erase(place);
    } else if (now) {
      set_.insert(place, std::move(versions.back().entry));
    }
    ++version_;
  }
  int compare(const Entry& a, const Probe& b) const;
  int compare_same_hash(const Entry& a, const Probe& b) const;
  int compare_ties(const Entry& a, const Entry& b) const;
  int compare_main(const Entry& a, const Probe& b) const;
  // The sort key of an item that is in a secondary index.
  std::string_view sort_in(const ItemRef& item, JoinedKey& joined) const;
  bool is_whole(uint64_t prefix) const;
  static Probe probe_of(uint64_t hash, const KeyView& key, Probe::Tie tie);
  Probe probe_of(const KeyView& key, const ItemRef& item) const;
  Entry entry(const KeyView& key, const ItemRef& item) const;

  const KeySchema keys_;
  const KeySchema main_keys_;  // Used by secondary indexes.
  const Kind kind_;
  const bool by_number_;  // True if the sort key is a number.
  const uint64_t seed_;
  Set set_;
  uint64_t version_ = 0;  // Counts the added and removed entries; a Position of an older version is not used.
};

struct OrderedItems::Position {
  Set::Position at;
  uint64_t version = UINT64_MAX;  // The initial value matches no version.
  const ItemRef* item() const { return at.found() ? &at->item : nullptr; }
};

}  // namespace freshet
