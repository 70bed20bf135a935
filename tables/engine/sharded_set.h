// An ordered set of entries whose order begins with a uniform hash. It is a row of B-trees, one for each value of the
// hash's top bits. The order is that of a single tree, but each tree has only a few entries: a lookup visits one node
// instead of six, and each visit is a wait for memory in a large set. The trees stand in one row, so that reaching the
// first node costs one wait, too.
//
// The row grows and shrinks with the set. When it has too many entries for its trees, or too few, the set makes a row
// of twice or half as many. From then on each change moves some entries into it, from the first one on. Until it ends,
// entries before a border are in the new row and the rest in the old one. A step moves about as many entries as one or
// two nodes hold, so that no change takes long. A row grows only while most of its trees have entries: entries that
// share a hash cannot be separated by it.
//
// `T`, and whatever is looked for, has a member `hash`, by which `Order` sorts first. One thread. Iterators and places
// are valid until the next change.
#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "base/allocation.h"

namespace freshet {

template <class T, class Order>
class ShardedSet {
  using Tree = absl::btree_set<T, Order, CountingAllocator<T>>;
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
      while (!tree_ || at_ == tree_->begin()) {
        tree_ = set_->tree_before(tree_);
        at_ = tree_->end();
      }
      --at_;
      return *this;
    }
    const_iterator operator--(int) {
      auto old = *this;
      --*this;
      return old;
    }
    bool operator==(const const_iterator& other) const { return tree_ == other.tree_ && at_ == other.at_; }

   private:
    friend class ShardedSet;
    const_iterator(const ShardedSet& set, Tree* tree, Leaf at) : set_(&set), tree_(tree), at_(at) { skip_ends(); }
    void skip_ends() {
      while (tree_ && at_ == tree_->end()) {
        do tree_ = set_->tree_after(tree_);
        while (tree_ && tree_->empty());
        at_ = tree_ ? tree_->begin() : Leaf{};
      }
    }

    const ShardedSet* set_ = nullptr;
    Tree* tree_ = nullptr;  // Null after the last entry.
    Leaf at_{};
  };

  // The position of an entry in its tree, or where it would be inserted.
  class Position {
   public:
    bool found() const { return found_; }
    const T& operator*() const { return *at_; }  // Valid only if found.
    const T* operator->() const { return &*at_; }

   private:
    friend class ShardedSet;
    Tree* tree_ = nullptr;
    Leaf at_{};  // The first entry of the tree that is not before it.
    bool found_ = false;
  };

  enum class Growth { kOneTree, kSplits };
  ShardedSet(Order order, Growth growth)
      : order_(std::move(order)), splits_(growth == Growth::kSplits), row_(*this, 0) {
    row_.add_until(1);
    set_bounds();
  }
  ShardedSet(const ShardedSet&) = delete;
  ShardedSet& operator=(const ShardedSet&) = delete;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Bytes of nodes and rows in the allocator; the memory that entries point to is not included.
  size_t memory() const { return memory_; }
  const_iterator begin() const {
    Tree* first = first_tree();
    return {*this, first, first->begin()};
  }
  const_iterator end() const { return {*this, nullptr, Leaf{}}; }

  template <class Probe>
  const_iterator lower_bound(const Probe& probe) const {
    Tree& tree = tree_of(probe);
    return {*this, &tree, tree.lower_bound(probe)};
  }
  template <class Probe>
  const_iterator upper_bound(const Probe& probe) const {
    Tree& tree = tree_of(probe);
    return {*this, &tree, tree.upper_bound(probe)};
  }
  template <class Probe>
  Position place(const Probe& probe) const {
    Position place;
    Tree& tree = tree_of(probe);
    place.tree_ = &tree;
    place.at_ = tree.lower_bound(probe);
    place.found_ = place.at_ != tree.end() && order_(*place.at_, probe) == 0;
    return place;
  }

  // Call it before many lookups: the memory that they need is loaded at once instead of one lookup after the
  // other.
  void prefetch(std::span<const uint64_t> hashes) const {
    for (const uint64_t hash : hashes) __builtin_prefetch(&tree_near(hash));
    for (const uint64_t hash : hashes) {
      const Tree& tree = tree_near(hash);
      if (tree.empty()) continue;
      const auto* first = reinterpret_cast<const char*>(&*tree.begin());
      for (size_t line = 0; line < kNodeLines; ++line) __builtin_prefetch(first + 64 * line);
    }
  }

  // Inserts at the position of `value`, which was not found.
  void insert(const Position& place, T value) {
    place.tree_->insert(place.at_, std::move(value));
    grown(*place.tree_);
  }
  // Returns false if the set has an equal entry.
  bool insert(T value) {
    Tree& tree = tree_of(value);
    const bool added = tree.insert(std::move(value)).second;
    if (added) grown(tree);
    return added;
  }
  // Appends an entry that is greater than all others.
  void append(T value) {
    Tree& last = tree_of(value);
    last.insert(last.end(), std::move(value));
    grown(last);
  }
  void erase(const Position& place) {
    erase_from(*place.tree_, place.at_);
    resize();
  }
  void erase(const const_iterator& it) {
    erase_from(*it.tree_, it.at_);
    resize();
  }
  // For a set that is no longer wanted: erases up to `limit` entries, the last first, and returns the number. Each call
  // walks over the trees once, not once per entry, and makes no new rows.
  size_t drop(size_t limit) {
    const size_t before = size_;
    for (Tree* tree = tree_before(nullptr); tree && size_ > 0; tree = tree_before(tree)) {
      while (!tree->empty()) {
        if (before - size_ == limit) return limit;
        erase_from(*tree, std::prev(tree->end()));
      }
    }
    return before - size_;
  }

 private:
  static constexpr size_t kMost = 8;   // Entries a tree on average before the row grows: most fit into one node.
  static constexpr size_t kLeast = 2;  // The average below which it shrinks.
  static constexpr unsigned kMostBits = 24;
  static constexpr size_t kNodeLines = 4;  // Cache lines in a node of a tree.
  static constexpr size_t kMoved = 64;     // Entries in one step.
  static constexpr size_t kJoined = 4;     // Trees in one step of shrinking, so that the last entries end it.

  // Room for one tree for each value of that many top bits. Trees are made and removed in order.
  class Row {
   public:
    explicit Row(ShardedSet& set) : set_(set) {}
    Row(ShardedSet& set, unsigned bits) : set_(set), shift_(63 - bits), room_(size_t{1} << bits) {
      trees_ = CountingAllocator<Tree>(set_.memory_).allocate(room_);
    }
    ~Row() { clear(); }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    void swap(Row& other) {
      std::swap(shift_, other.shift_);
      std::swap(room_, other.room_);
      std::swap(made_, other.made_);
      std::swap(gone_, other.gone_);
      std::swap(trees_, other.trees_);
    }
    void clear() {
      std::destroy(trees_ + gone_, trees_ + made_);
      if (trees_) CountingAllocator<Tree>(set_.memory_).deallocate(trees_, room_);
      trees_ = nullptr;
      room_ = made_ = gone_ = 0;
    }
    // Removes the first remaining tree. Trees go one by one, so that the end of a large row is not a long step.
    void remove_first() { std::destroy_at(trees_ + gone_++); }
    void add_until(size_t count) {
      for (; made_ < count; ++made_) new (trees_ + made_) Tree(set_.order_, CountingAllocator<T>(set_.memory_));
    }
    unsigned bits() const { return 63 - shift_; }
    size_t room() const { return room_; }
    bool is_there() const { return trees_ != nullptr; }
    size_t index(uint64_t hash) const { return hash >> 1 >> shift_; }
    Tree& operator[](size_t index) const { return trees_[index]; }
    Tree* begin() const { return trees_; }
    Tree* end() const { return trees_ + made_; }

   private:
    ShardedSet& set_;
    unsigned shift_ = 63;
    size_t room_ = 0;
    size_t made_ = 0;
    size_t gone_ = 0;  // The number of trees removed, from the first on.
    Tree* trees_ = nullptr;
  };

  // The tree for an entry of that hash; for the tree at the border, either of the two possible trees.
  Tree& tree_near(uint64_t hash) const {
    const size_t at = row_.index(hash);
    return static_cast<std::ptrdiff_t>(at) >= border_ ? row_[at] : next_[next_.index(hash)];
  }
  template <class Probe>
  Tree& tree_of(const Probe& probe) const {
    const size_t at = row_.index(probe.hash);
    if (static_cast<std::ptrdiff_t>(at) > border_) [[likely]]
      return row_[at];
    if (static_cast<std::ptrdiff_t>(at) == border_) {
      // The rest of the tree at the border stands behind all moved entries.
      Tree& rest = row_[at];
      if (!rest.empty() && order_(*rest.begin(), probe) <= 0) return rest;
    }
    return next_[next_.index(probe.hash)];
  }
  // The trees in order: the new row's trees that exist, then the old row's trees from the border on.
  Tree* first_tree() const { return next_.is_there() ? next_.begin() : row_.begin(); }
  Tree* border_tree() const { return row_.begin() + (border_ < 0 ? 0 : border_); }
  Tree* tree_after(Tree* tree) const {
    ++tree;
    if (tree == row_.end()) return nullptr;
    return next_.is_there() && tree == next_.end() ? border_tree() : tree;
  }
  // For null: the last tree. Null before the first.
  Tree* tree_before(Tree* tree) const {
    if (!tree) return row_.end() - 1;
    if (tree == first_tree()) return nullptr;
    return next_.is_there() && tree == border_tree() ? next_.end() - 1 : tree - 1;
  }

  void erase_from(Tree& tree, Leaf at) {
    tree.erase(at);
    --size_;
    if (tree.empty()) --filled_;
  }
  void grown(const Tree& tree) {
    ++size_;
    if (tree.size() == 1) ++filled_;
    resize();
  }
  void set_bounds() {
    const bool splits = splits_ && row_.bits() < kMostBits;
    grows_at_ = splits ? kMost * row_.room() : SIZE_MAX;
    shrinks_below_ = row_.room() > 1 ? kLeast * row_.room() : 0;
  }
  // Call it after each change.
  void resize() {
    if (border_ >= 0) {
      move_some();
    } else if (size_ >= grows_at_) {
      if (filled_ >= row_.room() / 4 * 3) begin_row(row_.bits() + 1);
    } else if (size_ < shrinks_below_) {
      begin_row(row_.bits() - 1);
    }
  }
  void begin_row(unsigned bits) {
    Row next(*this, bits);
    next_.swap(next);
    border_ = 0;
    make_targets();
    move_some();
  }
  // Makes the trees for the entries of the tree at the border before any entry is looked up there.
  void make_targets() {
    const auto at = static_cast<size_t>(border_);
    next_.add_until(next_.bits() > row_.bits() ? 2 * at + 2 : at / 2 + 1);
  }
  void move_some() {
    const size_t most = next_.bits() > row_.bits() ? 1 : kJoined;
    size_t left = kMoved;
    for (size_t trees = 0; trees < most; ++trees) {
      if (!move_tree(row_[static_cast<size_t>(border_)], left)) return;
      row_.remove_first();
      ++border_;
      if (border_ == row_.end() - row_.begin()) return end_row();
      make_targets();
    }
  }
  void end_row() {
    row_.swap(next_);
    next_.clear();
    border_ = -1;
    set_bounds();
  }
  // False if the tree has more entries left than may be moved now.
  bool move_tree(Tree& from, size_t& left) {
    if (from.empty()) return true;
    Tree& first = next_[next_.index(from.begin()->hash)];
    if (first.empty() && &first == &next_[next_.index(from.rbegin()->hash)]) {
      first = std::move(from);  // Moves all entries to one tree: that is one step, whatever their number.
      return true;
    }
    auto it = from.begin();
    for (; it != from.end() && left > 0; ++it, --left) {
      Tree& target = next_[next_.index(it->hash)];
      if (target.empty()) ++filled_;
      target.insert(target.end(), std::move(const_cast<T&>(*it)));  // The entry is erased below, so its order no longer
                                                                    // matters.
    }
    const bool all = it == from.end();
    if (all) {
      from.clear();
      --filled_;
    } else {
      from.erase(from.begin(), it);
    }
    return all;
  }

  const Order order_;
  const bool splits_;
  size_t memory_ = 0;
  size_t size_ = 0;
  size_t filled_ = 0;  // Trees that are not empty.
  size_t grows_at_ = 0;
  size_t shrinks_below_ = 0;
  std::ptrdiff_t border_ = -1;  // The tree of the row that is being moved into the next one; -1 if there is none.
  Row row_;
  Row next_{*this};
};

}  // namespace freshet
