// The embedded store: memory-resident, log-structured, on one loop. Implements the seam of tables/tables.h.
//
// All state is in memory, and every write is in one append-only log (tables/log). An operation only plans: it checks
// and returns a Mutation (plan.h). One pipeline (committer.h) applies mutations to the main structure, indexes, TTL
// order, books, stream and log. The changes of a turn are one batch, synced in commit() or later.
//
// Loop thread only. Results are ready at once, applied; durable() says when they are safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/durations.h"
#include "base/files.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "base/trace_links.h"
#include "base/wall_guard.h"
#include "tables/log/log.h"
#include "tables/tables.h"

namespace freshet {

class MoveWatcher;

inline constexpr std::string_view kMemoryDirectory = ":memory:";

struct EmbeddedOptions {
  std::string directory;  // ":memory:" stores nothing: there is no log.
  Durability durability;
  BackgroundSync* sync_beside = nullptr;  // See LogOptions::beside.
  uint64_t sync_beside_bytes = 32u << 10;
  BackgroundWork* log_chores = nullptr;   // See LogOptions::chores.
  BackgroundSync* backup_sync = nullptr;  // Syncs the files of backups; null: synced inline. Must not be `sync_beside`.
  uint64_t segment_bytes = 16u << 20;     // At most a sixteenth of max_data_bytes is used.
  uint64_t max_data_bytes = 0;            // The most bytes of all files; 0: as much as the disk has.
  uint64_t max_memory_bytes = 0;          // The cap on what EmbeddedStats::memory_bytes counts; 0: none.
  // Returns the memory, in bytes, that others hold and that counts against the cap. Called often, on the loop's thread.
  // May be null.
  std::function<uint64_t()> memory_beside;
  // Returns the approximate bytes that the runtime keeps in memory beside an item of a system table, for items that
  // clients cause and that have no TTL (a definition, waiting work); `kind` is the value of the item's partition key.
  // These bytes are counted, and new items of that kind are refused above nine eighths of max_memory_bytes. It returns
  // 0 for the runtime's other items, which are never refused. May be null.
  std::function<uint64_t(std::string_view kind, const ItemRef& item)> kept_beside;

  // Memory for recent change records of all tables. At most a quarter of max_memory_bytes is used.
  size_t stream_memory_bytes = 16u << 20;
  uint64_t stream_max_bytes = 4ull << 30;  // The most bytes of retired log that is kept for streams only.
  seconds stream_retention = std::chrono::hours(24);

  milliseconds ttl_sweep{10};             // The period of the TTL sweep.
  size_t ttl_step = 128;                  // The most items that one step of the sweep removes.
  seconds wall_jump{60};                  // After a larger jump the clock is trusted only once it is back in line, or
  seconds wall_jump_pause{60};            // has gone on evenly for this long (base/wall_guard.h).
  bool trust_clock = false;               // Trusts the clock at a start, however far it is ahead of the last commit.
  const ClockSync* clock_sync = nullptr;  // Tells if the clock is synchronised; null: not known.
  size_t move_step_bytes = 64u << 10;     // The least number of log bytes that compaction looks at in one turn.
  bool check_dead_segments = false;       // For tests: checks that dead records are dead.
  size_t backfill_step = 500;             // Entries that one turn adds to a new index or a restored table: 1 to 2 ms.
  size_t backup_step = 2000;              // The approximate number of items that one turn writes to a backup.
  size_t max_batch_bytes = 1u << 20;      // A turn that writes more makes several batches, with one sync.

  TraceLinks* trace_links = nullptr;  // Told of each change record.

  // Called once when the log has failed for good: no further write is acknowledged, and the daemon must stop.
  std::function<void(const Error&)> on_failure;
  // Called with a warning for a person, such as a TTL attribute in milliseconds. Once per table and reason.
  std::function<void(const std::string& table, const std::string& message)> on_warning;
  // Called when the wall clock stops being trusted, and when it is trusted again.
  std::function<void(const WallDoubt&)> on_clock;
  // Called at an open at which the wall clock is behind the last write, by more than `wall_jump`. It is trusted all the
  // same: nothing expires too early by it.
  std::function<void(milliseconds behind)> on_clock_behind;
  // Called if a crash tore the log's end and the open cut it, or if a loss was accepted.
  std::function<void(const LogCut&)> on_log_cut;
  // Called for each batch that the open reads, which is in the `segment`-th of `segments`, from 1. May be null.
  std::function<void(uint64_t segment, uint64_t segments)> on_reading;
  bool accept_loss = false;  // See LogOptions::accept_loss.
};

struct EmbeddedStats {
  uint64_t items = 0;
  // Allocated memory: tables, items, indexes, streams and backups, definitions that the runtime keeps, and others'
  // (memory_beside). Small parts are estimates.
  uint64_t memory_bytes = 0;
  uint64_t live_bytes = 0;  // The size of the live items in the log.
  uint64_t log_bytes = 0;   // The log's files, including the parts kept for streams.
  uint64_t log_bytes_left = 0;
  uint64_t batches = 0;         // Appended since the start.
  uint64_t appended_bytes = 0;  // By writes, since the start.
  uint64_t moved_bytes = 0;     // By compaction, since the start.
  uint64_t expired = 0;         // Items removed by TTL since the start.
  uint64_t throttled = 0;       // Writes refused by caps since the start.
  bool ttl_paused = false;      // The wall clock is not trusted, so TTL removes nothing.
  DurationCounts commits;       // From a batch's append to its release: writes and syncs; without unhurried ones.
};

class EmbeddedTables : public Tables, public TurnParticipant {
 public:
  virtual EmbeddedStats stats() const = 0;
  // The store's view of the wall clock. Lives as long as the store.
  virtual WallGuard& wall_guard() = 0;
  // Makes the table's stream keep both images whatever its view is, for a recorder, or ends that. kResourceNotFound.
  virtual Result<void> keep_images(const std::string& table, bool keep) = 0;
  // Tells `watcher` (move_watcher.h) of every change of a status from now on, until it is set to null. One at a time;
  // it outlives that.
  virtual void watch_moves(MoveWatcher* watcher) = 0;
};

// Opens or creates the store and recovers its content. `files` may be null for ":memory:". All references outlive the
// store. Errors: kCorruption and kUnsupportedFormat as open_log() says; kConflict when another process has it open.
// After its log has failed, a store answers writes and stream reads with kInternal, and calls on_failure.
Result<std::unique_ptr<EmbeddedTables>> open_embedded(Files* files, Scheduler& scheduler, Random& random,
                                                      EmbeddedOptions options);

}  // namespace freshet
