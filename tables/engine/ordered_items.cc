#include "tables/engine/ordered_items.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace freshet {
namespace {

uint64_t prefix_of(std::string_view sort) {
  uint64_t raw = 0;
  if (!sort.empty()) std::memcpy(&raw, sort.data(), std::min(sort.size(), sizeof raw));
  return __builtin_bswap64(raw);
}

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

}  // namespace

OrderedItems::OrderedItems(KeySchema keys, Kind kind, uint64_t seed)
    : keys_(std::move(keys)),
      by_creation_(kind == Kind::kSecondary),
      by_number_(keys_.sort && keys_.more_sort.empty() && keys_.sort->type == Type::kNumber),
      composite_(keys_.is_composite()),
      seed_(seed),
      // All entries of an index may stand in one partition, so that their hashes tell nothing apart.
      set_(Order{this}, kind == Kind::kMain ? Set::Growth::kSplits : Set::Growth::kOneTree) {}

// Whether a prefix is all of the sort key, so that equal ones need no look into the items. The pairs of a positive
// number are odd but the last, which is even, as is the padding behind a shorter number (docs/formats.md).
bool OrderedItems::is_whole(uint64_t prefix) const {
  constexpr uint64_t kFirstPositive = uint64_t{0x81} << 56;
  return by_number_ && prefix >= kFirstPositive && (prefix & 1) == 0;
}

uint64_t OrderedItems::hash(std::string_view partition) const {
  return XXH3_64bits_withSeed(partition.data(), partition.size(), seed_);
}

OrderedItems::Probe OrderedItems::probe(const KeyView& key, uint64_t creation) const {
  return {hash(key.partition), prefix_of(key.sort), key.partition, key.sort, creation};
}

OrderedItems::Entry OrderedItems::entry(const KeyView& key, const ItemRef& item) const {
  return {hash(key.partition), prefix_of(key.sort), item};
}

KeyView OrderedItems::key_in(const ItemRef& item, JoinedKey& joined) const {
  if (!composite_) return key_of(item, keys_);
  const auto key = index_key_of(item, keys_, joined);
  FRESHET_CHECK(key.has_value(), "an item is in an index only with its key");
  return *key;
}

int OrderedItems::compare(const Entry& a, const Probe& b) const {
  return a.hash != b.hash ? (a.hash < b.hash ? -1 : 1) : compare_same_hash(a, b);
}

int OrderedItems::compare_same_hash(const Entry& a, const Probe& b) const {
  if (b.side != Probe::Side::kKey) return -static_cast<int>(b.side);
  if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
  if (by_creation_ && is_whole(a.prefix)) return three_way(a.item.creation(), b.creation);
  JoinedKey joined;
  const KeyView key = key_in(a.item, joined);
  if (const int c = key.partition.compare(b.partition)) return c;
  if (const int c = key.sort.compare(b.sort)) return c;
  return by_creation_ ? three_way(a.item.creation(), b.creation) : 0;
}

int OrderedItems::compare_ties(const Entry& a, const Entry& b) const {
  if (a.item.identity() == b.item.identity()) return 0;
  if (by_creation_ && is_whole(a.prefix)) return three_way(a.item.creation(), b.item.creation());
  JoinedKey joined;
  const KeyView key = key_in(b.item, joined);
  return compare_same_hash(a, {b.hash, b.prefix, key.partition, key.sort, b.item.creation()});
}

const ItemRef* OrderedItems::find(const KeyView& key) const {
  return place(key).item();
}

OrderedItems::Place OrderedItems::place(const KeyView& key) const {
  return {set_.place(probe(key, 0)), version_};
}

void OrderedItems::change(const Place& known, const ItemRef& before, const ItemRef& after) {
  const Place place = known.version == version_ ? known : this->place(key_of(after ? after : before, keys_));
  FRESHET_CHECK(place.at.found() == static_cast<bool>(before),
                "a write was planned against the state it is applied to");
  if (before && after) {
    place.at->item = after;
    return;
  }
  ++version_;
  if (before) {
    set_.erase(place.at);
  } else {
    set_.insert(place.at, entry(key_of(after, keys_), after));
  }
}

void OrderedItems::change(const ItemRef& before, const std::optional<KeyView>& old_key, const ItemRef& after,
                          const std::optional<KeyView>& new_key) {
  if (old_key) {
    const auto place = set_.place(probe(*old_key, before.creation()));
    FRESHET_CHECK(place.found(), "an index has every item that it should have");
    if (new_key && *new_key == *old_key) {
      place->item = after;
      return;
    }
    set_.erase(place);
  }
  if (new_key) {
    const bool added = set_.insert(entry(*new_key, after));
    FRESHET_CHECK(added, "an index has an item once");
  }
}

void OrderedItems::fill(std::vector<Entry> entries) {
  FRESHET_CHECK(set_.empty(), "an index is filled once");
  const Order order{this};
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return order(a, b) < 0; });
  for (auto& entry : entries) set_.append(std::move(entry));
  ++version_;
}

OrderedItems::Iterator OrderedItems::after(const ItemRef& item) const {
  return set_.upper_bound(probe(key_of(item, keys_), 0));
}

bool OrderedItems::precedes(const ItemRef& a, const ItemRef& b) const {
  return compare(entry(key_of(a, keys_), a), probe(key_of(b, keys_), 0)) < 0;
}

bool OrderedItems::holds(const Entry& entry, std::string_view partition) const {
  if (!keys_.more_partition.empty()) {
    JoinedKey joined;
    return key_in(entry.item, joined).partition == partition;
  }
  const auto value = entry.item.find(keys_.partition.name);
  return value && value->key_bytes() == partition;
}

}  // namespace freshet
