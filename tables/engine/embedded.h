// The embedded store: memory-resident, log-structured, on one loop. Implements the seam of tables/tables.h.
//
// All state is in memory, every write in one append-only log (tables/log). Each operation only plans: it checks and
// returns a Mutation (plan.h); one pipeline applies mutations (committer.h): main structure, indexes, TTL order, books,
// stream, log. What a turn did is one batch, and synced in commit() or beside the next turns.
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

inline constexpr std::string_view kMemoryDirectory = ":memory:";

struct EmbeddedOptions {
  std::string directory;  // ":memory:" keeps nothing: no log at all.
  Durability durability;
  BackgroundSync* sync_beside = nullptr;  // See LogOptions::beside.
  uint64_t sync_beside_bytes = 32u << 10;
  BackgroundWork* log_chores = nullptr;   // See LogOptions::chores.
  BackgroundSync* backup_sync = nullptr;  // Syncs files of backups; null for doing it inline. Not the one above.
  uint64_t segment_bytes = 16u << 20;     // At most a sixteenth of max_data_bytes is used.
  uint64_t max_data_bytes = 0;            // Bound on the files; 0 for the disk's own.
  uint64_t max_memory_bytes = 0;          // Bound on what EmbeddedStats::memory_bytes counts; 0 for none.
  // The memory that others hold and that counts against the bound, in bytes. Called often, on the loop's thread. May be
  // null.
  std::function<uint64_t()> memory_beside;
  // The memory that the runtime keeps beside an item of a system table without a TTL that clients cause (a definition,
  // work that waits), by the value of its partition key; in bytes, about. It is counted, and new items of that kind are
  // refused above nine eighths of max_memory_bytes. Return 0 for the runtime's other items, which are never refused.
  // May be null.
  std::function<uint64_t(std::string_view kind, const ItemRef& item)> kept_beside;

  // Recent change records kept in memory, all tables together. At most a quarter of max_memory_bytes is used.
  size_t stream_memory_bytes = 16u << 20;
  uint64_t stream_max_bytes = 4ull << 30;  // Retired log kept for streams only.
  seconds stream_retention = std::chrono::hours(24);

  milliseconds ttl_sweep{10};             // How late an expired item may go at the earliest: the sweep's period.
  size_t ttl_step = 128;                  // Expired items removed in one turn: less than 1 ms.
  seconds wall_jump{60};                  // A wall clock that jumps by more is not trusted until it is back in line, or
  seconds wall_jump_pause{60};            // has gone on evenly for that long (base/wall_guard.h).
  bool trust_clock = false;               // Trusts it at a start, however far it is ahead of the last commit.
  const ClockSync* clock_sync = nullptr;  // Says if the clock is synchronised; null: not known.
  size_t move_step_bytes = 64u << 10;     // Log bytes looked at by compaction in one turn, at least.
  bool check_dead_segments = false;       // For tests: checks that dead records are dead.
  size_t backfill_step = 500;             // Entries added to a new index or a restored table in one turn: 1 to 2 ms.
  size_t backup_step = 2000;              // Items written to a backup in one turn, about.
  size_t max_batch_bytes = 1u << 20;      // A turn that writes more becomes several batches, with one sync.

  TraceLinks* trace_links = nullptr;  // Is told of each change record.

  // The log has failed for good: nothing is acknowledged any more; the daemon must stop, loudly. Once.
  std::function<void(const Error&)> on_failure;
  // Something a person should know, e.g. a TTL attribute in milliseconds. Once per table and reason.
  std::function<void(const std::string& table, const std::string& message)> on_warning;
  // The wall clock is not trusted from now on, or is trusted again.
  std::function<void(const WallDoubt&)> on_clock;
  // A crash tore the log's end, and the open cut it; or a loss was accepted.
  std::function<void(const LogCut&)> on_log_cut;
  // Called for each batch that the open reads: it is in the `segment`-th of `segments`, from 1. May be null.
  std::function<void(uint64_t segment, uint64_t segments)> on_reading;
  bool accept_loss = false;  // See LogOptions::accept_loss.
};

struct EmbeddedStats {
  uint64_t items = 0;
  // Memory that the allocator gave for tables, items, indexes, streams and backups, for definitions that the runtime
  // keeps, and for others (memory_beside). Small parts are estimates.
  uint64_t memory_bytes = 0;
  uint64_t live_bytes = 0;  // The size of the live items in the log.
  uint64_t log_bytes = 0;   // The log's files, including the parts kept for streams.
  uint64_t log_bytes_left = 0;
  uint64_t batches = 0;         // Appended since the start.
  uint64_t appended_bytes = 0;  // By writes, since the start.
  uint64_t moved_bytes = 0;     // By compaction, since the start.
  uint64_t expired = 0;         // Items removed by TTL since the start.
  uint64_t throttled = 0;       // Writes refused by caps since the start.
  bool ttl_paused = false;      // The wall clock is not trusted.
  DurationCounts commits;       // From a batch's append to its release: writes and syncs; not of unhurried ones.
};

class EmbeddedTables : public Tables, public TurnParticipant {
 public:
  virtual EmbeddedStats stats() const = 0;
  // The store's view of the wall clock. Lives as long as the store.
  virtual WallGuard& wall_guard() = 0;
  // A recorder wants both images in the stream of that table whatever its view, from now on. kResourceNotFound.
  virtual Result<void> keep_images(const std::string& table, bool keep) = 0;
};

// Opens or creates the store and recovers what is there. `files` may be null for ":memory:". All references outlive
// the store. Errors: kCorruption and kUnsupportedFormat as open_log() says; kConflict when another process has it open.
// After its log has failed, a store answers writes and stream reads with kInternal, and calls on_failure.
Result<std::unique_ptr<EmbeddedTables>> open_embedded(Files* files, Scheduler& scheduler, Random& random,
                                                      EmbeddedOptions options);

}  // namespace freshet
