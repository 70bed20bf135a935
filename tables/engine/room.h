// The space in the log and the memory that the store may still take: decides whether a write is admitted. Clients'
// growth stops at a reserve, so that what frees space (completions, deletes, compaction) always has room.
//
// Loop thread only.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "tables/engine/catalog.h"
#include "tables/engine/embedded.h"
#include "tables/log/log.h"

namespace freshet {

// Why the batch of this turn cannot be written now. Until it can, nothing is admitted.
enum class Stall : uint8_t { kNone, kDiskFull, kNoDescriptors };

class Room {
 public:
  // Both outlive it.
  Room(const Catalog& catalog, const EmbeddedOptions& options) : catalog_(catalog), options_(options) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // Counts what recovery has loaded. Without this call there is no log, and only memory is bounded. `log` outlives it.
  void set_log(const Log& log);
  // Updates the space that is left. Call it after the log has changed; only after set_log().
  void refresh();
  void set_stall(Stall stall) { stall_ = stall; }
  Stall stall() const { return stall_; }

  // `pending`: bytes of this turn's batch. kThroughputExceeded at a cap.
  Result<void> admit(const Mutation& mutation, uint64_t pending);
  // For a record about a table. kThroughputExceeded if fewer than `keep` bytes would be left after it.
  Result<void> admit_record(uint64_t keep, uint64_t pending);
  // Checks that `bytes` and `memory` are free beyond the reserve in the log or the backups, and in memory.
  // kLimitExceeded.
  Result<void> admit_bulk(uint64_t bytes, uint64_t memory) const;
  // Checks that a table may be changed in a way that needs this much more memory: even a full store can be deployed
  // again. kLimitExceeded.
  Result<void> admit_upkeep(uint64_t memory) const;

  // A change was applied to a table.
  void count(const Change& change) {
    if (change.table->definition().system) count_kept(change);
  }
  // A table is about to be dropped.
  void count_drop(const Table& table);
  // Sets the memory, and the share of --max-data-bytes, that backups use.
  void set_backups(uint64_t bytes, uint64_t memory);

  // The size of live items in the log, as of the last refresh().
  uint64_t live_bytes() const { return live_bytes_; }
  // Space that clients' growth must leave free.
  uint64_t reserve_bytes() const;
  // Space that completions and deletes must leave free, for compaction.
  uint64_t floor_bytes() const { return 2 * options_.segment_bytes; }
  uint64_t space_left() const { return space_left_; }
  // Bytes of memory in use, with what others keep on behalf of the store's items.
  uint64_t memory() const;
  // Writes that were refused at a cap.
  uint64_t refused() const { return refused_; }

 private:
  void count_kept(const Change& change);

  // The bytes that a mutation adds, and to which caps it is held.
  struct Demand {
    uint64_t bytes = 0;  // In the log.
    uint64_t added = 0;  // Bytes that clients' items add, in the log and in memory.
    uint64_t removed = 0;
    uint64_t entries = 0;  // Bytes of new index entries, in memory.
    bool grows = false;    // True if the data of clients grow.
    bool waits = false;    // True if the runtime must keep something for a client.
  };
  Demand demand_of(const Mutation& mutation) const;
  Result<void> admit_bytes(uint64_t keep, uint64_t bytes);
  Result<void> admit_memory(uint64_t bytes, uint64_t limit) const;
  // The cap for objects that the runtime must keep on behalf of clients, and for small growth that ends existing work:
  // above max_memory_bytes, so that a store that is full of clients' items keeps working.
  uint64_t most_kept() const { return options_.max_memory_bytes + options_.max_memory_bytes / 8; }
  uint64_t most_memory() const { return options_.max_memory_bytes + options_.max_memory_bytes / 4; }
  // Memory that the runtime keeps beside an item of a system table; 0 if it keeps none.
  uint64_t kept_beside(const Table& table, const ItemRef& item) const;

  const Catalog& catalog_;
  const EmbeddedOptions& options_;
  const Log* log_ = nullptr;
  Stall stall_ = Stall::kNone;
  uint64_t space_left_ = 0;
  uint64_t live_bytes_ = 0;
  uint64_t live_items_ = 0;
  uint64_t backup_bytes_ = 0;
  uint64_t backup_memory_ = 0;
  uint64_t kept_memory_ = 0;  // The sum of kept_beside() of all items.
  uint64_t refused_ = 0;
};

}  // namespace freshet
