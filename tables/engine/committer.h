// The one commit pipeline. Every change of a store goes through apply(): it updates the main structure and its
// observers at once, and adds records to the batch that commit() appends and syncs. Its parts: Room decides what is
// admitted, PendingBatch holds the records, SyncSchedule decides when to sync and resumes the waiters.
//
// Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async.h"
#include "tables/engine/catalog.h"
#include "tables/engine/embedded.h"
#include "tables/engine/pending_batch.h"
#include "tables/engine/room.h"
#include "tables/engine/sync_schedule.h"
#include "tables/log/log.h"
#include "tables/move_watcher.h"

namespace freshet {

class Committer {
 public:
  Committer(Scheduler& scheduler, Catalog& catalog, const EmbeddedOptions& options)
      : scheduler_(scheduler),
        catalog_(catalog),
        options_(options),
        room_(catalog, options),
        syncs_(scheduler, options) {}
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
  // See Room::admit_bulk(); kInternal after a failure of the log.
  Result<void> admit_bulk(uint64_t bytes, uint64_t memory) const;
  // The space and memory of the store.
  Room& room() { return room_; }
  const Room& room() const { return room_; }
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
  void expect_bulk() { syncs_.expect_bulk(); }
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

  EmbeddedStats stats() const;
  void count_expired(uint64_t n) { stats_.expired += n; }
  uint64_t appended_bytes() const { return stats_.appended_bytes; }

 private:
  void apply_one(Change& change);
  uint64_t add_to_stream(const Change& change);
  void begin_batch();
  Result<LogPosition> append(BatchKind kind, const std::string& payload);
  void stall(const Error& error);
  SyncSchedule::Streams note_appended_streams(LogPosition at);
  void sync(BootTime now);
  void fail_store(const Error& error);

  Scheduler& scheduler_;
  Catalog& catalog_;
  const EmbeddedOptions& options_;
  std::unique_ptr<Log> log_;
  MoveWatcher* watcher_ = nullptr;
  Room room_;
  PendingBatch batch_;
  SyncSchedule syncs_;
  std::optional<Error> failure_;
  EmbeddedStats stats_;
};

}  // namespace freshet
