// The one commit pipeline. Everything that changes a store goes through apply(): main structure and observers at once,
// records into the batch that commit() appends and syncs.
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

namespace freshet {

class Committer {
 public:
  Committer(Scheduler& scheduler, Catalog& catalog, const EmbeddedOptions& options)
      : scheduler_(scheduler), catalog_(catalog), options_(options) {}
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Without this call the store keeps nothing. Recovery has loaded the log's content. Errors are those of the reserve.
  Result<void> set_log(std::unique_ptr<Log> log);
  Log* log() const { return log_.get(); }

  // Whether a write may be applied now: kInternal after a failure of the log, kThroughputExceeded at a cap.
  Result<void> admit(const Mutation& mutation);
  // The same of a record about a table: it may be written while so many bytes of space are left.
  Result<void> admit_record(uint64_t keep);
  // Whether so much more fits into log or backups, and into memory, beside what everybody else needs. kLimitExceeded.
  Result<void> admit_bulk(uint64_t bytes, uint64_t memory);
  // Checks if a table may be changed in a way that needs that much more memory: a full store is still deployed again.
  // kLimitExceeded.
  Result<void> admit_upkeep(uint64_t memory);
  // The memory and the share of --max-data-bytes that backups take.
  void set_backup_bytes(uint64_t bytes, uint64_t memory);
  // Applies a mutation that was planned against the state as it is and admitted (the store's own deletes need not be).
  // One that is unhurried is synced with what comes within some milliseconds.
  void apply(Mutation mutation, bool unhurried = false);
  // The catalog changed: says so in the batch.
  void log_table(Table& table);
  void log_drop(const Table& table);  // Which is removed from the catalog right after.
  void log_closed(const ClosedEntry& closed);

  // Much of what is applied this turn is one request's: few wait for it.
  void expect_bulk() { in_bulk_ = true; }
  // The end of the turn.
  void commit();
  // Appends what is pending now instead of at the end of the turn. False if that was not possible (disk full or
  // failed); it is tried again by commit().
  bool flush();
  // Compaction: appends live items again as they are and moves them to the open segment. Nothing may be pending.
  // False if that was not possible.
  bool append_moves(const std::vector<std::pair<uint32_t, ItemRef>>& items);
  // Opens a new segment. False if that was not possible.
  bool roll();
  // A log operation outside of commit failed: kDiskFull and kUnavailable pass, everything else is for good.
  void report(const Error& error);
  // A reader of the log failed. A file that cannot be read or is gone fails the store for good. The reader handles
  // other errors, such as damaged records of a stream.
  void report_read(const Error& error);

  Async<Result<void>> durable();
  // As Tables::lull().
  Async<void> lull(BootTime latest);
  bool failed() const { return failure_.has_value(); }
  // The error that every caller gets from then on.
  const std::optional<Error>& failure() const { return failure_; }
  // When commit() has something to do although nothing else happens (durability by interval, unhurried writes).
  BootTime next_due() const;

  // The size of live items in the log, as of the last batch.
  uint64_t live_bytes() const { return live_bytes_; }
  // Space that growth leaves alone, and that completions and deletes leave to compaction.
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
    std::vector<std::pair<uint32_t, uint64_t>> streams;  // Table number, its stream is readable before.
    std::vector<Promise<Result<void>>> waiters;
    bool hurried = false;  // It was to be synced at once.
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
  // Room above the cap, so that a store that is full of clients' items goes on: for objects that clients make the
  // runtime keep, and for the small growth that ends existing work.
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

  // The batch of this turn.
  std::string batch_;  // Empty if nothing was written.
  WallTime batch_time_{};
  std::vector<ItemRef> placed_;  // New items, whose place is known when the batch is.
  std::vector<Promise<Result<void>>> waiters_;
  bool hurried_ = false;  // Something in it is to be synced at once.

  std::deque<Release> unreleased_;  // Appended, not durable.
  uint64_t wanted_ = 0;             // Log sequence: what was appended up to it is to be synced at once.
  std::vector<Promise<bool>> lulls_;
  BootTime beside_until_{};  // Syncs run beside the loop, if they can, however small.
  std::optional<Error> failure_;
  bool in_bulk_ = false;
  bool no_descriptors_ = false;  // Why it is stalled: no file could be opened.
  bool stalled_ = false;         // The batch did not fit onto the disk; nothing is admitted until it does.

  uint64_t live_bytes_ = 0;
  uint64_t live_items_ = 0;
  uint64_t space_left_ = 0;
  uint64_t backup_bytes_ = 0;
  uint64_t backup_memory_ = 0;
  uint64_t kept_memory_ = 0;  // The sum of kept_beside() of all items.
  EmbeddedStats stats_;
};

}  // namespace freshet
