// An ordered set of entries whose order begins with a uniform hash. While it is small it is one B-tree; from then on
// there is one for each value of the hash's top bits. The order is that of a single tree, but a point is found in a
// tree of some entries or few dozens: one or two nodes to go through instead of six, each of which is a wait for the
// memory in a large set. The trees stand in one row, so that the way to the first node is one wait, too.
//
// `T`, and whatever is looked for, has a member `hash`, by which `Order` sorts first. One thread. Iterators and places
// are valid until the next change.
#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace freshet {

template <class T, class Order>
class ShardedSet {
  using Tree = absl::btree_set<T, Order>;
  using Leaf = typename Tree::const_iterator;

 public:
  class const_iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    const_iterator() = default;
    reference operator*() const { return *at_; }
    pointer operator->() const { return &*at_; }
    const_iterator& operator++() {
      ++at_;
      skip_ends();
      return *this;
    }
    const_iterator operator++(int) {
      auto old = *this;
      ++*this;
      return old;
    }
    const_iterator& operator--() {
      while (is_behind_all() || at_ == tree().begin()) {
        --shard_;
        at_ = tree().end();
      }
      --at_;
      return *this;
    }
    const_iterator operator--(int) {
      auto old = *this;
      --*this;
      return old;
    }
    bool operator==(const const_iterator& other) const { return shard_ == other.shard_ && at_ == other.at_; }

   private:
    friend class ShardedSet;
    const_iterator(const ShardedSet& set, size_t shard, Leaf at) : set_(&set), shard_(shard), at_(at) { skip_ends(); }
    bool is_behind_all() const { return shard_ == set_->trees_.size(); }
    const Tree& tree() const { return set_->trees_[shard_]; }
    void skip_ends() {
      while (!is_behind_all() && at_ == tree().end()) {
        do ++shard_;
        while (!is_behind_all() && tree().empty());
        at_ = is_behind_all() ? Leaf{} : tree().begin();
      }
    }

    const ShardedSet* set_ = nullptr;
    size_t shard_ = 0;
    Leaf at_{};  // Behind all entries: none.
  };

  // Where an entry stands in its tree, or would.
  class Place {
   public:
    bool found() const { return found_; }
    const T& operator*() const { return *at_; }  // Only if found.
    const T* operator->() const { return &*at_; }

   private:
    friend class ShardedSet;
    size_t shard_ = 0;
    Leaf at_{};  // The first entry of the tree that is not before it.
    bool found_ = false;
  };

  enum class Growth { kOneTree, kSplits };
  ShardedSet(Order order, Growth growth) : order_(std::move(order)), splits_(growth == Growth::kSplits) {
    trees_.emplace_back(order_);
  }
  ShardedSet(const ShardedSet&) = delete;
  ShardedSet& operator=(const ShardedSet&) = delete;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const_iterator begin() const { return {*this, 0, trees_[0].begin()}; }
  const_iterator end() const { return {*this, trees_.size(), Leaf{}}; }

  template <class Probe>
  const_iterator lower_bound(const Probe& probe) const {
    const size_t shard = shard_of(probe.hash);
    return {*this, shard, trees_[shard].lower_bound(probe)};
  }
  template <class Probe>
  const_iterator upper_bound(const Probe& probe) const {
    const size_t shard = shard_of(probe.hash);
    return {*this, shard, trees_[shard].upper_bound(probe)};
  }
  template <class Probe>
  Place place(const Probe& probe) const {
    Place place;
    place.shard_ = shard_of(probe.hash);
    const Tree& tree = trees_[place.shard_];
    place.at_ = tree.lower_bound(probe);
    place.found_ = place.at_ != tree.end() && order_(*place.at_, probe) == 0;
    return place;
  }

  // Of many lookups that are about to come: each asks the processor for what it goes through, so that they wait for the
  // memory together and not one after the other.
  void prefetch(std::span<const uint64_t> hashes) const {
    for (const uint64_t hash : hashes) __builtin_prefetch(&trees_[shard_of(hash)]);
    for (const uint64_t hash : hashes) {
      const Tree& tree = trees_[shard_of(hash)];
      if (tree.empty()) continue;
      const auto* first = reinterpret_cast<const char*>(&*tree.begin());
      for (size_t line = 0; line < kNodeLines; ++line) __builtin_prefetch(first + 64 * line);
    }
  }

  // At the place of `value`, which was not found.
  void insert(const Place& place, T value) {
    trees_[place.shard_].insert(place.at_, std::move(value));
    grown();
  }
  // False if there is an equal one.
  bool insert(T value) {
    const bool added = trees_[shard_of(value.hash)].insert(std::move(value)).second;
    if (added) grown();
    return added;
  }
  // Of values in their order: behind all others.
  void append(T value) {
    Tree& last = trees_[shard_of(value.hash)];
    last.insert(last.end(), std::move(value));
    grown();
  }
  void erase(const Place& place) { erase(place.shard_, place.at_); }
  void erase(const const_iterator& it) { erase(it.shard_, it.at_); }
  // Erases up to `limit` entries, the last first; how many it were. One walk over the trees a call, not one an entry.
  size_t drop(size_t limit) {
    const size_t before = size_;
    for (size_t shard = trees_.size(); shard-- > 0 && size_ > 0;) {
      while (!trees_[shard].empty()) {
        if (before - size_ == limit) return limit;
        erase(shard, std::prev(trees_[shard].end()));
      }
    }
    return before - size_;
  }

 private:
  static constexpr unsigned kBits = 17;     // Four megabytes of trees; of a million entries each has eight: one node.
  static constexpr size_t kNodeLines = 4;   // Of memory, in a node of a tree.
  static constexpr size_t kSplitAt = 8192;  // Entries: takes some milliseconds, once.

  size_t shard_of(uint64_t hash) const { return trees_.size() == 1 ? 0 : hash >> (64 - kBits); }
  void erase(size_t shard, Leaf at) {
    trees_[shard].erase(at);
    --size_;
  }
  void grown() {
    if (++size_ < kSplitAt || !splits_ || trees_.size() > 1) return;
    const Tree whole = std::move(trees_[0]);
    trees_.assign(size_t{1} << kBits, Tree(order_));
    for (const T& value : whole) {
      Tree& part = trees_[shard_of(value.hash)];
      part.insert(part.end(), value);
    }
  }

  const Order order_;
  const bool splits_;
  std::vector<Tree> trees_;
  size_t size_ = 0;
};

}  // namespace freshet
