// The append-only log: numbered, preallocated segments of checksummed, length-prefixed batches. One batch is one
// commit, atomic across tables, indexes, streams and books. Format: docs/formats.md.
//
// Threading: loop thread. Errors: any error but kDiskFull and kUnavailable (no file descriptor is free) is for good:
// every later call returns it again and nothing is acknowledged any more (a failed fdatasync must never be retried: the
// kernel may have dropped the pages).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/background_work.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace freshet {

enum class BatchKind : uint8_t {
  kCommit = 1,  // The changes of one turn.
  kMove = 2,    // Compaction: the same items again; streams ignore them.
};

enum class DurabilityMode { kSync, kInterval, kNone };
struct Durability {
  DurabilityMode mode = DurabilityMode::kSync;
  milliseconds interval{0};  // For kInterval.
};

// The end of a log when it was opened, and the number of bytes behind it that were cut because a crash had torn them.
struct LogCut {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;   // Bytes up to the page, including the bytes that are known to be missing.
  std::string missing;  // With LogOptions::accept_loss: describes the loss that was accepted. Else empty.
};

struct LogOptions {
  std::string directory;
  uint64_t segment_bytes = 64u << 20;  // A batch larger than this gets a segment of its own.
  Durability durability;
  // The most bytes of all segments with spares; 0: no bound. A segment is at most an eighth of it.
  uint64_t max_bytes = 0;
  // Identity of a new log; seeds its checksums, so that stored bytes cannot pass for batches. Random in production; an
  // existing log keeps its own.
  uint64_t new_log_id = 0;
  // Runs larger syncs while the owner goes on; null: every sync runs within sync(). Outlives the log. When a sync is
  // over, call sync() again. For few bytes, switching threads costs more than it saves; but if few clients wait, a
  // quarter of the bytes is enough (see Waiting).
  BackgroundSync* beside = nullptr;
  uint64_t beside_bytes = 32u << 10;
  // Cuts, deletes and creates files, which may wait for the file system's journal as long as a sync does; null: the
  // calls here do it. Needs Files that two threads may use at once, as those of make_posix_files(). Outlives the log.
  // When work is over, call sync() again.
  BackgroundWork* chores = nullptr;
  // Called once, within open_log(), if something was cut or a loss was accepted. May be empty.
  std::function<void(const LogCut&)> on_cut;
  // Opens the log with its remaining data although files at its end are missing or too short.
  bool accept_loss = false;
};

struct LogPosition {
  uint32_t segment = 0;
  uint64_t offset = 0;
  auto operator<=>(const LogPosition&) const = default;
};

struct LogBatch {
  BatchKind kind = BatchKind::kCommit;
  uint64_t sequence = 0;  // Rises by one per batch.
  LogPosition at;
  std::string_view payload;  // Valid during the call that hands it out.
};

// The clients that wait for the appended batches. Many small requests that arrive during a sync within the call share
// the next one; each of a few large requests is work enough for the time of a sync. kBusy: there is other work for that
// time, or the sync may take very long, however few the bytes are.
enum class Waiting { kMany, kFew, kBusy };

// Sees each batch once, in order. An error from it stops the recovery.
using BatchVisitor = std::function<Result<void>(const LogBatch&)>;

struct SegmentInfo {
  uint32_t id = 0;
  uint64_t first_sequence = 0;
  uint64_t bytes = 0;  // Used bytes, header included.
  bool retired = false;
};

class Log {
 public:
  virtual ~Log() = default;

  // Appends one batch; it is in the file (page cache) when this returns, not yet durable. kDiskFull or kUnavailable
  // when a new segment is needed and cannot be had; then nothing has been written and the log goes on working.
  virtual Result<LogPosition> append(BatchKind kind, std::string_view payload) = 0;
  // Opens a new segment now, so that retire_through() takes effect; has no effect if the open one is still empty.
  // Errors as append().
  virtual Result<void> roll() = 0;
  // True if a payload of that size would be the first batch of its segment (a new one, or an open one that is still
  // empty, as after a crash). The store then begins the payload with a checkpoint (catalog, books, counters), so that
  // every segment begins with everything that older ones said besides items.
  virtual bool starts_segment(size_t payload_bytes) const = 0;
  // Makes all appended batches durable as the durability mode asks (kNone: only says so; kInterval: when the interval
  // is over). With LogOptions::beside a sync may only begin here: durable_sequence() says how far it is. In mode kSync
  // the call does nothing if all batches up to `wanted` are durable. The call that ends a sync beside does not sync
  // within the call: clients that waited for the finished sync come first.
  virtual Result<void> sync(BootTime now, Waiting waiting, uint64_t wanted) = 0;
  // True while a sync runs beside, or is over and sync() has not been called since.
  virtual bool syncing() const = 0;
  // The time at which sync() should be called next even if nothing is appended (an interval is over, or the reserve is
  // to be filled when the disk has space again); BootTime::max() for never.
  virtual BootTime sync_due() const = 0;

  virtual uint64_t last_sequence() const = 0;
  virtual uint64_t durable_sequence() const = 0;

  // Oldest first; the last one is open. Retired ones are a prefix: replay skips them, streams may still read them.
  virtual std::vector<SegmentInfo> segments() const = 0;
  // Call it when every live item of segments up to `id` has been appended again. Takes effect for replay with the next
  // segment's header; until then replaying them is harmless.
  virtual void retire_through(uint32_t id) = 0;
  // Deletes the oldest segment file, which must be retired by a durable header. The stream has been trimmed past it.
  virtual Result<void> remove_oldest() = 0;
  // Visits the batches from `from` (a batch start, or offset 0 for the first of a segment) to the end of that segment,
  // or until the visitor has had `max_bytes` (one batch at least). Returns where to continue; at SegmentInfo::bytes the
  // segment is done. kTrimmedDataAccess if the segment has been removed, kCorruption if no batch is at `from` or the
  // file is damaged; errors of read() do not end the log. The visitor must not change the log.
  virtual Result<LogPosition> read(LogPosition from, size_t max_bytes, const BatchVisitor& visit) = 0;

  // Announces that read() will soon go through that segment: it is loaded into memory meanwhile. Errors as read().
  virtual Result<void> will_read(uint32_t segment) = 0;

  // The number of bytes that may still be appended before append() can say kDiskFull: the rest of the open segment,
  // spare segments held in reserve (given up where a batch needs a file larger than they are), and what max_bytes and
  // the disk leave (in whole segments). The rest of the open segment is of no use to a batch that does not fit there.
  uint64_t bytes_left() const { return bytes_left_beside(0); }
  // The same if others, such as backups, use so many bytes of max_bytes. They do not count against what the disk
  // leaves, which is without them already.
  virtual uint64_t bytes_left_beside(uint64_t others) const = 0;
  virtual uint64_t bytes_used() const = 0;  // The size of all segments, headers included.
  // Keeps that many bytes preallocated as spares, as far as disk and max_bytes allow; sync() or the chores fill it.
  virtual void set_reserve(uint64_t bytes) = 0;
};

// Opens or creates the log and replays it. Holds exclusive locks on the directory and on its file LOCK while the log
// lives (kConflict if another process holds one). Damage above the highest position known durable is a torn tail and is
// cut; below it, kCorruption naming file and offset. A segment that is missing by what the others say, or a file that
// is shorter than it was: kCorruption, too, unless LogOptions::accept_loss. A newer format version: kUnsupportedFormat.
// A log that is refused is not changed.
Result<std::unique_ptr<Log>> open_log(Files& files, const LogOptions& options, const BatchVisitor& replay);

}  // namespace freshet
