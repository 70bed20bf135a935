// Orders items by their expiry, as a commit observer. Loop thread only.
//
// As on the service: the attribute is a number of epoch seconds, an item is expired when it is <= now, values more than
// five years in the past are ignored, items without a number there never expire. An item whose books status is the held
// one is not in the order; it comes back when it leaves that status.
#pragma once

#include <absl/container/btree_set.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/allocation.h"
#include "tables/definition.h"
#include "tables/engine/drop_some.h"
#include "tables/value/item_ref.h"

namespace freshet {

class TtlOrder {
 public:
  // `held`: the books' held status, empty without books.
  TtlOrder(bool in_milliseconds, std::string held) : milliseconds_(in_milliseconds), held_(std::move(held)) {}
  TtlOrder(const TtlOrder&) = delete;
  TtlOrder& operator=(const TtlOrder&) = delete;

  // The value of the TTL attribute in an item, and its books status.
  struct Seen {
    std::optional<ValueView> ttl;
    std::string_view status;
  };
  struct Entry {
    int64_t expires;  // Epoch seconds.
    uint64_t creation;
    mutable ItemRef item;
    bool operator<(const Entry& other) const {
      return expires != other.expires ? expires < other.expires : creation < other.creation;
    }
  };
  // Applies a write. A null ref means absent; its Seen is then empty.
  void change(const ItemRef& before, const Seen& old_seen, const ItemRef& after, const Seen& new_seen);
  // Recovery: add_to() collects the item's entry, if it has one; then add() takes all of them.
  void add_to(std::vector<Entry>& entries, const ItemRef& item, const Seen& seen);
  void fill(std::vector<Entry> entries);
  // The item that expired first; null if none has expired at that epoch second.
  ItemRef expired(int64_t now) const;
  // When the next item will expire, seen from `now` (epoch seconds); empty for never.
  std::optional<int64_t> next(int64_t now) const;
  size_t size() const { return set_.size(); }
  // Bytes that the entries take, without the items.
  size_t memory() const { return memory_; }
  // Drops up to `limit` entries, the last first; returns their number.
  size_t drop(size_t limit) { return drop_some(set_, limit); }
  // The first value that can only be milliseconds although seconds are expected; returned once.
  std::optional<int64_t> take_suspect();

 private:
  std::optional<int64_t> expiry(const Seen& seen);
  using Set = absl::btree_set<Entry, std::less<Entry>, CountingAllocator<Entry>>;
  Set::const_iterator first(int64_t now) const;

  const bool milliseconds_;
  const std::string held_;
  size_t memory_ = 0;
  Set set_{CountingAllocator<Entry>(memory_)};
  std::optional<int64_t> suspect_;
  bool suspect_reported_ = false;
};

}  // namespace freshet
