// KeptBooks: the books of one table on a store that keeps none (tables/traits.h, Trait::kBooks). They are exact once
// all items have been counted (begin_count() to end_count()), as far as this process writes the table. Writes by others
// show at the next count, as moves by clients. Pure state. Loop thread.
//
// Writes go on during a count. An item counts in the state in which the count reads it, or in the state in which its
// first write leaves it, whichever comes first. `id` identifies an item; two items with the same id count as one.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tables/definition.h"

namespace freshet {

class KeptBooks {
 public:
  // The status of an item, and its bytes as stored. An empty At means that the item is not in the table.
  struct Place {
    std::string status;
    uint64_t bytes = 0;
    bool operator==(const Place&) const = default;
  };
  using At = std::optional<Place>;

  // A write of the item was sent; each sent() is followed by one over().
  void sent(uint64_t id) { ++in_flight_[id]; }
  // The writes of the item that were sent and are not over.
  int in_flight(uint64_t id) const {
    const auto found = in_flight_.find(id);
    return found == in_flight_.end() ? 0 : found->second;
  }
  // A write of the item has ended. `now`: the item's place afterwards, if it is known.
  void over(uint64_t id, const std::optional<At>& now);
  // The item was at `from` and is at `to`.
  void moved(uint64_t id, const At& from, const At& to, Cause cause);
  // The books may have missed a move: the table must be counted again.
  void doubt() { is_doubted_ = true; }
  bool is_doubted() const { return is_doubted_; }

  void begin_count();
  // A page of the count contains the item. `at`: its place in that page or, if these books already have the item, its
  // place there.
  void counted(uint64_t id, const At& at);
  // There are no more pages. The count is complete once all writes have ended that were in flight when the count read
  // their items.
  void end_count();
  bool is_counting() const { return count_ != nullptr; }
  bool is_counted() const { return count_ == nullptr; }
  // The approximate memory of the parts that grow with the table or with the writes in flight.
  uint64_t memory_bytes() const;

  const Books& books() const { return books_; }

 private:
  struct Stock {
    std::map<std::string, uint64_t> items;
    std::map<std::string, uint64_t> bytes;
  };
  struct Count {
    Stock stock;
    absl::flat_hash_set<uint64_t> known;        // Items that are in `stock`, or that are not in the table.
    absl::flat_hash_map<uint64_t, At> waiting;  // Items that were being written when the count read them.
    bool is_read = false;                       // There are no more pages.
  };

  void count_as(uint64_t id, const At& at);
  void finish_count();

  Books books_;
  std::unique_ptr<Count> count_;
  absl::flat_hash_map<uint64_t, int> in_flight_;
  bool is_doubted_ = false;
};

}  // namespace freshet
