// The one commit pipeline. Every change of a store goes through apply(): it updates the main structure and its
// observers at once, and adds records to the batch that commit() appends and syncs.
//
// Loop thread only.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/async.h"
#include "tables/engine/catalog.h"
#include "tables/engine/embedded.h"
#include "tables/log/log.h"
#include "tables/move_watcher.h"

namespace freshet {

class Committer {
 public:
  Committer(Scheduler& scheduler, Catalog& catalog, const EmbeddedOptions& options)
      : scheduler_(scheduler), catalog_(catalog), options_(options) {}
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Sets the log, whose content recovery has loaded. Without this call nothing is stored. Errors are those of the
  // reserve.
  Result<void> set_log(std::unique_ptr<Log> log);
  Log* log() const { return log_.get(); }

  // Checks that a write may be applied now: kInternal after a failure of the log, kThroughputExceeded at a cap.
  Result<void> admit(const Mutation& mutation);
  // Like admit(), for a record about a table: it may be written while `keep` bytes of space are left.
  Result<void> admit_record(uint64_t keep);
  // Checks that `bytes` and `memory` are free beyond the reserve in the log or the backups, and in memory.
  // kLimitExceeded.
  Result<void> admit_bulk(uint64_t bytes, uint64_t memory);
  // Checks that a table may be changed in a way that needs this much more memory: even a full store can be deployed
  // again. kLimitExceeded.
  Result<void> admit_upkeep(uint64_t memory);
  // Sets the memory, and the share of --max-data-bytes, that backups use.
  void set_backup_bytes(uint64_t bytes, uint64_t memory);
  // Applies a mutation that was planned against the current state and admitted (the store's own deletes need no
  // admission). An unhurried one is low priority: it is synced with the next batch, within some milliseconds.
  void apply(Mutation mutation, bool unhurried = false);
  // Records a change of the table's definition in the batch.
  void log_table(Table& table);
  void log_drop(const Table& table);  // Records that the table is dropped; the caller removes it from the catalog right
                                      // after.
  void log_closed(const ClosedEntry& closed);

  // See EmbeddedTables::watch_moves().
  void watch_moves(MoveWatcher* watcher) { watcher_ = watcher; }

  // Tells that one request causes most of this turn's changes, so that few clients wait for them.
  void expect_bulk() { in_bulk_ = true; }
  // Call it at the end of each turn.
  void commit();
  // Appends pending changes now instead of at the end of the turn. Returns false if that is not possible (the disk is
  // full or has failed); commit() tries again.
  bool flush();
  // Compaction: appends live items again unchanged and moves them to the open segment. Nothing may be pending. Returns
  // false if that is not possible.
  bool append_moves(const std::vector<std::pair<uint32_t, ItemRef>>& items);
  // Opens a new segment. Returns false if that is not possible.
  bool roll();
  // Reports a failed log operation outside of commit: the store recovers from kDiskFull and kUnavailable; every other
  // error is permanent.
  void report(const Error& error);
  // Reports a failed read of the log. A missing or unreadable file fails the store for good. The reader handles other
  // errors, such as damaged records of a stream.
  void report_read(const Error& error);

  Async<Result<void>> durable();
  // See Tables::lull().
  Async<void> lull(BootTime latest);
  bool failed() const { return failure_.has_value(); }
  // The error that every caller gets after a permanent failure.
  const std::optional<Error>& failure() const { return failure_; }
  // The time at which commit() has work although nothing else happens (durability by interval, unhurried writes).
  BootTime next_due() const;

  // The size of live items in the log, as of the last batch.
  uint64_t live_bytes() const { return live_bytes_; }
  // Space that growth must leave free, and that completions and deletes leave to compaction.
  uint64_t reserve_bytes() const;
  uint64_t floor_bytes() const { return 2 * options_.segment_bytes; }
  uint64_t space_left() const { return space_left_; }
  EmbeddedStats stats() const;
  void count_expired(uint64_t n) { stats_.expired += n; }
  uint64_t appended_bytes() const { return stats_.appended_bytes; }

 private:
  struct Release {
    uint64_t log_sequence;
    BootTime appended_at;
    std::vector<std::pair<uint32_t, uint64_t>> streams;  // A table's number, and the sequence up to which its stream
                                                         // becomes readable.
    std::vector<Promise<Result<void>>> waiters;
    bool hurried = false;  // True if the batch was to be synced at once.
  };

  Result<void> admit_bytes(uint64_t keep, uint64_t bytes);
  void apply_one(Change& change);
  uint64_t add_to_stream(const Change& change);
  void add_to_batch(const Change& change, uint64_t sequence);
  void begin_batch();
  void append_changed_flows();
  std::string checkpoint() const;
  Result<LogPosition> append(BatchKind kind, const std::string& payload);
  void fail_store(const Error& error);
  void release();
  void count_commit(BootTime appended_at);
  void refresh_space();
  // The cap for objects that the runtime must keep on behalf of clients, and for small growth that ends existing work:
  // above max_memory_bytes, so that a store that is full of clients' items keeps working.
  uint64_t most_kept() const { return options_.max_memory_bytes + options_.max_memory_bytes / 8; }
  uint64_t most_memory() const { return options_.max_memory_bytes + options_.max_memory_bytes / 4; }
  // Memory that the runtime keeps beside an item of a system table; 0 if it keeps none.
  uint64_t kept_beside(const Table& table, const ItemRef& item) const;
  Result<void> admit_memory(uint64_t bytes, uint64_t limit) const;
  uint64_t memory() const;
  Async<Result<void>> wait_durable();
  Async<void> wait_lull(BootTime latest);
  void end_lulls(bool now);
  BootTime rest_due() const;

  Scheduler& scheduler_;
  Catalog& catalog_;
  const EmbeddedOptions& options_;
  std::unique_ptr<Log> log_;
  MoveWatcher* watcher_ = nullptr;

  // The batch of this turn.
  std::string batch_;  // Empty if nothing was written.
  WallTime batch_time_{};
  std::vector<ItemRef> placed_;  // New items; their log position is known once the batch is appended.
  std::vector<Promise<Result<void>>> waiters_;
  bool hurried_ = false;  // True if a change in the batch is to be synced at once.

  std::deque<Release> unreleased_;  // Batches that are appended and not yet durable.
  uint64_t wanted_ = 0;             // Everything up to this log sequence is to be synced at once.
  std::vector<Promise<bool>> lulls_;
  BootTime beside_until_{};  // Until then, syncs run beside the loop if they can, however small they are.
  std::optional<Error> failure_;
  bool in_bulk_ = false;
  bool no_descriptors_ = false;  // True if it stalled because no file descriptor was free.
  bool stalled_ = false;         // True while the batch does not fit onto the disk; nothing is admitted until it does.

  uint64_t live_bytes_ = 0;
  uint64_t live_items_ = 0;
  uint64_t space_left_ = 0;
  uint64_t backup_bytes_ = 0;
  uint64_t backup_memory_ = 0;
  uint64_t kept_memory_ = 0;  // The sum of kept_beside() of all items.
  EmbeddedStats stats_;
};

}  // namespace freshet
