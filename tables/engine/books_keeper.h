// The books of one table, as a commit observer: stock by status in items and in bytes, flow per arrow. Loop thread
// only.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/definition.h"
#include "tables/value/item_ref.h"

namespace freshet {

// The status of an item in the books: the string in its status attribute, or the whole number from 0 to 999; "?"
// when that is missing, empty, of another type or value or longer than 64 bytes, or when there are 100 others already
// (so that a client cannot fill the books, which every segment of the log repeats); "" for no item.
inline constexpr std::string_view kNoStatus = "?";
std::string_view status_of(const std::optional<ValueView>& status);  // The status of an existing item.

// How the books count an item, or its absence: "" and 0.
struct Counted {
  std::string_view status;
  uint64_t bytes = 0;  // As it is stored.
};

class BooksKeeper {
 public:
  explicit BooksKeeper(BooksDefinition definition) : definition_(std::move(definition)) {}
  const BooksDefinition& definition() const { return definition_; }

  // Records that a write moved an item or changed its size. A status that stays is not a transition.
  void change(Counted from, Counted to, Cause cause);
  // Recovery: counts a live item; sets a counter to what the log says.
  void count(Counted item);
  void set_flow(const Arrow& arrow, uint64_t value);
  // Recovery: call this after the log was read. If the log has no flow at all, the books had not been opened: existing
  // items are booked as coming from outside.
  void open_if_new();

  Books snapshot() const;
  // Calls visit(arrow, value) for counters that changed since the last call, or for all, in no promised order.
  template <class Visit>
  void take_changed(Visit&& visit) {
    for (const uint32_t at : changed_) {
      counters_[at].changed = false;
      visit(arrow(counters_[at]), counters_[at].value);
    }
    changed_.clear();
  }
  template <class Visit>
  void visit_all(Visit&& visit) const {
    for (const auto& counter : counters_) visit(arrow(counter), counter.value);
  }
  bool has_changed() const { return !changed_.empty(); }
  // Approximate bytes that statuses and counters take.
  size_t memory() const { return statuses_.size() * kStatusMemory + counters_.size() * kCounterMemory; }

 private:
  struct Status {
    std::string name;
    uint64_t stock = 0;
    uint64_t bytes = 0;
  };
  struct Counter {
    uint32_t from;
    uint32_t to;
    Cause cause;
    bool changed;
    uint64_t value;
  };
  // Each is in a vector and in a hash map, and both have spare capacity.
  static constexpr size_t kStatusMemory = 2 * (sizeof(Status) + sizeof(std::string) + sizeof(uint32_t));
  static constexpr size_t kCounterMemory = 2 * (sizeof(Counter) + sizeof(uint64_t) + 2 * sizeof(uint32_t));

  uint32_t status(std::string_view name);
  Counter& counter(uint32_t from, uint32_t to, Cause cause);
  void mark(Counter& counter);
  Arrow arrow(const Counter& c) const { return {statuses_[c.from].name, statuses_[c.to].name, c.cause}; }

  const BooksDefinition definition_;
  std::vector<Status> statuses_;  // In order of first use; "" counts nothing.
  absl::flat_hash_map<std::string, uint32_t> status_numbers_;
  std::vector<Counter> counters_;  // In order of first use.
  absl::flat_hash_map<uint64_t, uint32_t> counter_numbers_;
  std::vector<uint32_t> changed_;
};

}  // namespace freshet
