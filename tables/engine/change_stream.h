// The change stream of one table, and the memory that all streams of a store share. Loop thread only.
//
// Records are stored in the log's batches; the newest are also kept in memory, within a budget of the whole store.
// Older records are read from the log, found by a sparse index of log positions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/async.h"
#include "tables/engine/batch.h"
#include "tables/log/log.h"
#include "tables/tables.h"

namespace freshet {

// A change record in its compact form. ItemRefs are shared with the table where they can be.
struct StreamRecord {
  uint64_t sequence = 0;
  ChangeRecord::Kind kind = ChangeRecord::Kind::kInsert;
  bool by_ttl = false;
  WallTime at{};
  ItemRef keys_of;  // An item with this key: an image, or only the key.
  ItemRef before;   // Null where the view does not need it.
  ItemRef after;
  uint32_t memory = 0;    // Set by the stream: what the record holds, shared images included.
  bool by_queue = false;  // Not known for a record that was read back from the log.
};

// The images that a stream keeps: those of its view, or both for a recorder.
bool needs_before(StreamView view);

class ChangeStream;

// Bounds the memory of the records that all streams keep; the oldest record of all streams is dropped first. Also
// counts the memory of the streams' index of log positions.
class StreamMemory {
 public:
  explicit StreamMemory(size_t budget) : budget_(budget) {}
  void added(ChangeStream& stream, size_t bytes);
  // Call it before the stream is destroyed: drops up to `most` of its records and returns their number.
  size_t forget(ChangeStream& stream, size_t most);
  void shrink();  // Call it when records have been written to the log: drops records beyond the budget.
  size_t bytes() const { return bytes_ + mark_bytes_; }

 private:
  const size_t budget_;
  size_t bytes_ = 0;                 // Bytes of records; the budget bounds these.
  size_t mark_bytes_ = 0;            // Bytes of all streams' index entries; they are dropped with their part of the
                                     // log.
  std::deque<ChangeStream*> order_;  // The stream of each record, in the order in which records are dropped.
  friend class ChangeStream;
};

class ChangeStream {
 public:
  ChangeStream(uint32_t table, KeySchema keys, StreamMemory& memory)
      : table_(table), keys_(std::move(keys)), memory_(memory) {}
  ~ChangeStream() {
    memory_.forget(*this, SIZE_MAX);
    count_marks(marks_.size(), 0);
  }
  ChangeStream(const ChangeStream&) = delete;
  ChangeStream& operator=(const ChangeStream&) = delete;

  // --- Writing ---
  uint64_t take_sequence() { return next_++; }
  void add(StreamRecord record);
  // The batch that holds all records before next() is in the log at `at`; it becomes readable when released. A store
  // without a log only calls released().
  void logged(LogPosition at);
  void release_before(uint64_t sequence);
  // The first sequence that is not in the log yet.
  uint64_t logged_next() const { return logged_next_; }
  uint64_t next() const { return next_; }

  // --- Recovery ---
  void restore(uint64_t next, uint64_t oldest);
  void restored(StreamRecord record, LogPosition at);
  // A kept segment begins here; `sequence` is the next record at that point.
  void mark(uint64_t sequence, LogPosition at);

  // --- Reading ---
  // Returns readable records from `input.from` on; none if there are none yet. `log` is null for a store without one.
  Result<StreamPage> read(const ReadStreamInput& input, Log* log);
  StreamBounds bounds() const { return {oldest_, readable_}; }
  void wait(const Promise<bool>& waiter);
  void wake();

  // --- Trimming ---
  // Drops everything before that segment, which is too old or about to be deleted.
  void trim_before(uint32_t segment);
  // Drops all earlier records (the log is older than closed streams are).
  void trim_all();
  // Frees up to `records` records in memory of a stream that nobody will read any more; returns their number.
  size_t forget(size_t records) { return memory_.forget(*this, records); }
  // True if a record of this stream may be in segments before that one.
  bool needs_before_segment(uint32_t segment) const;

 private:
  friend class StreamMemory;
  struct Mark {
    uint64_t sequence;  // The first record in the log at or after `at`.
    LogPosition at;
  };
  size_t drop_oldest();  // Returns the bytes that were freed.
  void add_mark(uint64_t sequence, LogPosition at);
  void count_marks(size_t before, size_t now) { memory_.mark_bytes_ += (now - before) * sizeof(Mark); }
  LogPosition place_before(uint64_t sequence) const;
  Result<void> read_log(const ReadStreamInput& input, Log& log, StreamPage& page);
  // True if a page with this number of records is full when one more would make it `bytes` long. A first record always
  // fits.
  static bool full(const ReadStreamInput& input, size_t records, size_t bytes);
  ChangeRecord expose(const StreamRecord& record) const;
  uint64_t tail_first() const { return tail_.empty() ? next_ : tail_.front().sequence; }

  const uint32_t table_;
  const KeySchema keys_;
  StreamMemory& memory_;
  uint64_t next_ = 1;
  uint64_t logged_next_ = 1;  // All records before it are in the log.
  uint64_t readable_ = 1;     // All records before it are durable.
  uint64_t oldest_ = 1;
  std::deque<StreamRecord> tail_;  // Without gaps, up to next_ - 1.
  std::deque<Mark> marks_;         // By sequence, at least kMarkSpacing apart in the log.
  std::vector<Promise<bool>> waiters_;
};

}  // namespace freshet
