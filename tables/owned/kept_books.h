// KeptBooks: the books of one table on a store that keeps none (tables/traits.h, Trait::kBooks). They are right once
// all items were counted (begin_count() to end_count()), as far as moves go through this process. What others write
// shows at the next count, as moves by clients. Pure state. Loop thread.
//
// While items are counted, others are written. An item counts as it is when the count meets it, or as its first write
// leaves it, whichever comes first. `id` stands for an item: two with the same one are counted as one.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tables/definition.h"

namespace freshet {

class KeptBooks {
 public:
  // Where an item is, and its bytes as stored. Empty: not in the table.
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
  // `now`: the item's place if it is known.
  void over(uint64_t id, const std::optional<At>& now);
  // The item was at `from` and is at `to`.
  void moved(uint64_t id, const At& from, const At& to, Cause cause);
  // Something may have moved that this does not know of: count again.
  void doubt() { is_doubted_ = true; }
  bool is_doubted() const { return is_doubted_; }

  void begin_count();
  // A page of the count showed the item. `at`: where it is, or where these books have it.
  void counted(uint64_t id, const At& at);
  // There are no more pages. The count holds as soon as the writes are over that were under way when it met their
  // items.
  void end_count();
  bool is_counting() const { return count_.has_value(); }
  bool is_counted() const { return !count_; }
  // Approximately, for what grows with the table or with what is under way.
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
    absl::flat_hash_map<uint64_t, At> waiting;  // They were being written when the count met them.
    bool is_read = false;                       // There are no more pages.
  };

  void count_as(uint64_t id, const At& at);
  void finish_count();

  Books books_;
  std::optional<Count> count_;
  absl::flat_hash_map<uint64_t, int> in_flight_;
  bool is_doubted_ = false;
};

}  // namespace freshet
