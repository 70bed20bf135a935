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

int compare_keys(const KeyView& a, const KeyView& b) {
  if (const int c = a.partition.compare(b.partition)) return c;
  return a.sort.compare(b.sort);
}

}  // namespace

OrderedItems::OrderedItems(KeySchema keys, Kind kind, uint64_t seed, KeySchema main_keys)
    : keys_(std::move(keys)),
      main_keys_(std::move(main_keys)),
      kind_(kind),
      by_number_(keys_.sort && keys_.more_sort.empty() && keys_.sort->type == Type::kNumber),
      seed_(seed),
      // All entries of an index may be in one partition, so that their hashes do not separate them.
      set_(Order{this}, kind == Kind::kMain ? Set::Growth::kSplits : Set::Growth::kOneTree) {}

// True if a prefix is the whole sort key, so that equal prefixes need no look into the items. The pairs of a positive
// number are odd except the last, which is even, as is the padding behind a shorter number (docs/formats.md).
bool OrderedItems::is_whole(uint64_t prefix) const {
  constexpr uint64_t kFirstPositive = uint64_t{0x81} << 56;
  return by_number_ && prefix >= kFirstPositive && (prefix & 1) == 0;
}

uint64_t OrderedItems::hash(std::string_view partition) const {
  return XXH3_64bits_withSeed(partition.data(), partition.size(), seed_);
}

OrderedItems::Probe OrderedItems::probe_of(uint64_t hash, const KeyView& key, Probe::Tie tie) {
  return {hash, prefix_of(key.sort), key.partition, key.sort, Probe::Side::kKey, tie};
}

// The key of an item's entry in a secondary index; the item outlives it.
OrderedItems::Probe OrderedItems::probe_of(const KeyView& key, const ItemRef& item) const {
  Probe probe = this->probe(key, Probe::Tie::kAt);
  probe.creation = item.creation();
  probe.item = &item;
  return probe;
}

OrderedItems::Entry OrderedItems::entry(const KeyView& key, const ItemRef& item) const {
  return {hash(key.partition), prefix_of(key.sort), item};
}

std::string_view OrderedItems::sort_in(const ItemRef& item, JoinedKey& joined) const {
  if (!keys_.sort) return {};
  if (keys_.more_sort.empty()) {
    const auto value = item.find(keys_.sort->name);
    FRESHET_CHECK(value.has_value(), "an item is in an index only with its key");
    return value->key_bytes();
  }
  const auto key = index_key_of(item, keys_, joined);
  FRESHET_CHECK(key.has_value(), "an item is in an index only with its key");
  return key->sort;
}

int OrderedItems::compare(const Entry& a, const Probe& b) const {
  return a.hash != b.hash ? (a.hash < b.hash ? -1 : 1) : compare_same_hash(a, b);
}

int OrderedItems::compare_main(const Entry& a, const Probe& b) const {
  return compare_keys(key_of(a.item, keys_), {b.partition, b.sort});
}

int OrderedItems::compare_same_hash(const Entry& a, const Probe& b) const {
  if (b.side != Probe::Side::kKey) return -static_cast<int>(b.side);
  if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
  if (kind_ == Kind::kMain) return compare_main(a, b);
  if (!is_whole(a.prefix)) {
    JoinedKey joined;
    if (const int c = sort_in(a.item, joined).compare(b.sort)) return c;
  }
  if (b.tie != Probe::Tie::kAt) return -static_cast<int>(b.tie);
  if (kind_ == Kind::kByArrival) return three_way(a.item.creation(), b.creation);
  if (!b.beside) b.beside = key_of(*b.item, main_keys_);
  return compare_keys(key_of(a.item, main_keys_), *b.beside);
}

int OrderedItems::compare_ties(const Entry& a, const Entry& b) const {
  if (a.item.identity() == b.item.identity()) return 0;
  if (kind_ == Kind::kMain) {
    const KeyView key = key_of(b.item, keys_);
    return compare_main(a, {b.hash, b.prefix, key.partition, key.sort});
  }
  if (!is_whole(a.prefix)) {
    JoinedKey joined[2];
    if (const int c = sort_in(a.item, joined[0]).compare(sort_in(b.item, joined[1]))) return c;
  }
  if (kind_ == Kind::kByArrival) return three_way(a.item.creation(), b.item.creation());
  return compare_keys(key_of(a.item, main_keys_), key_of(b.item, main_keys_));
}

void OrderedItems::sort_by_words(std::vector<Load>& loads) {
  std::stable_sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
    return a.entry.hash != b.entry.hash ? a.entry.hash < b.entry.hash : a.entry.prefix < b.entry.prefix;
  });
}

std::span<OrderedItems::Load> OrderedItems::first_run(std::span<Load> loads) {
  const Entry& first = loads.front().entry;
  const auto end = std::find_if(loads.begin() + 1, loads.end(), [&](const Load& load) {
    return load.entry.hash != first.hash || load.entry.prefix != first.prefix;
  });
  return loads.first(static_cast<size_t>(end - loads.begin()));
}

bool OrderedItems::have_one_key(std::span<const Load> run) const {
  if (run.size() == 1) return true;
  const KeyView key = key_of(run.front().entry.item, keys_);
  return std::all_of(run.begin() + 1, run.end(),
                     [&](const Load& load) { return compare_keys(key_of(load.entry.item, keys_), key) == 0; });
}

void OrderedItems::sort_by_key(std::span<Load> run) const {
  const Order order{this};
  std::stable_sort(run.begin(), run.end(), [&](const Load& a, const Load& b) { return order(a.entry, b.entry) < 0; });
}

const ItemRef* OrderedItems::find(const KeyView& key) const {
  return place(key).item();
}

OrderedItems::Position OrderedItems::place(const KeyView& key) const {
  return {set_.place(probe(key)), version_};
}

void OrderedItems::change(const Position& known, const ItemRef& before, const ItemRef& after) {
  const Position place = known.version == version_ ? known : this->place(key_of(after ? after : before, keys_));
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
    const auto place = set_.place(probe_of(*old_key, before));
    FRESHET_CHECK(place.found(), "an index has every item that it should have");
    if (new_key && *new_key == *old_key) {
      place->item = after;
      return;
    }
    set_.erase(place);
  }
  if (!new_key) return;
  if (kind_ == Kind::kByArrival) {
    const bool added = set_.insert(entry(*new_key, after));
    FRESHET_CHECK(added, "an index has an item once");
    return;
  }
  // Looks up the item's own key at most once, not for each entry that it is compared with.
  const auto place = set_.place(probe_of(*new_key, after));
  FRESHET_CHECK(!place.found(), "an index has an item once");
  set_.insert(place, entry(*new_key, after));
}

void OrderedItems::fill(std::vector<Entry> entries) {
  FRESHET_CHECK(set_.empty(), "an index is filled once");
  const Order order{this};
  if (kind_ != Kind::kByKey) {
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return order(a, b) < 0; });
    for (auto& entry : entries) set_.append(std::move(entry));
  } else {
    // All may be ties: each item's key is looked up once, not in every comparison.
    struct Keyed {
      Entry entry;
      KeyView main;
    };
    std::vector<Keyed> keyed;
    keyed.reserve(entries.size());
    for (auto& entry : entries) {
      const KeyView main = key_of(entry.item, main_keys_);
      keyed.push_back({std::move(entry), main});
    }
    entries = {};
    const auto before = [&](const Keyed& a, const Keyed& b) {
      if (a.entry.hash != b.entry.hash) return a.entry.hash < b.entry.hash;
      if (a.entry.prefix != b.entry.prefix) return a.entry.prefix < b.entry.prefix;
      if (!is_whole(a.entry.prefix)) {
        JoinedKey joined[2];
        if (const int c = sort_in(a.entry.item, joined[0]).compare(sort_in(b.entry.item, joined[1]))) return c < 0;
      }
      return compare_keys(a.main, b.main) < 0;
    };
    std::sort(keyed.begin(), keyed.end(), before);
    for (auto& one : keyed) set_.append(std::move(one.entry));
  }
  ++version_;
}

OrderedItems::Iterator OrderedItems::after(const ItemRef& item) const {
  return set_.upper_bound(probe(key_of(item, keys_)));
}

bool OrderedItems::precedes(const ItemRef& a, const ItemRef& b) const {
  return compare(entry(key_of(a, keys_), a), probe(key_of(b, keys_))) < 0;
}

bool OrderedItems::holds(const Entry& entry, std::string_view partition) const {
  if (!keys_.more_partition.empty()) {
    JoinedKey joined;
    const auto key = index_key_of(entry.item, keys_, joined);
    FRESHET_CHECK(key.has_value(), "an item is in an index only with its key");
    return key->partition == partition;
  }
  const auto value = entry.item.find(keys_.partition.name);
  return value && value->key_bytes() == partition;
}

}  // namespace freshet
