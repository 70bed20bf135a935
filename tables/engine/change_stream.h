// The change stream of one table, and the memory that all streams of a store share. Loop thread only.
//
// Records live in the log's batches; the newest ones also in memory, within a budget of the whole store. Reading what
// memory has forgotten goes back to the log through a sparse index of places.
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
  ItemRef keys_of;  // Some item with this key: an image, or the bare key.
  ItemRef before;   // Null where the view does not need it.
  ItemRef after;
  uint32_t memory = 0;    // Set by the stream: what the record holds, shared images included.
  bool by_queue = false;  // Of one read back from the log it is not known.
};

// The images that a stream keeps: the view's, or both for a recorder.
bool needs_before(StreamView view);

class ChangeStream;

// Bounds the bytes that all streams' tails hold; the oldest record goes first, whichever stream it is in. Also counts
// the memory of their places in the log.
class StreamMemory {
 public:
  explicit StreamMemory(size_t budget) : budget_(budget) {}
  void added(ChangeStream& stream, size_t bytes);
  // The stream is about to go: forgets up to `most` of its records; how many it were.
  size_t forget(ChangeStream& stream, size_t most);
  void shrink();  // Again, when records have come into the log.
  size_t bytes() const { return bytes_ + mark_bytes_; }

 private:
  const size_t budget_;
  size_t bytes_ = 0;                 // Bytes of records: the budget bounds these.
  size_t mark_bytes_ = 0;            // Bytes of all streams' places in the log; they go when the log does.
  std::deque<ChangeStream*> order_;  // Whose record is next to go.
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
  // The batch that holds all records before next() is in the log there; it becomes readable when released.
  // Without a log: nothing but released().
  void logged(LogPosition at);
  void release_before(uint64_t sequence);
  // Sequences of records that are not in the log yet start here.
  uint64_t logged_next() const { return logged_next_; }
  uint64_t next() const { return next_; }

  // --- Recovery ---
  void restore(uint64_t next, uint64_t oldest);
  void restored(StreamRecord record, LogPosition at);
  // A kept segment begins with this sequence as the next one.
  void mark(uint64_t sequence, LogPosition at);

  // --- Reading ---
  // Readable records from `input.from` on; none if there are none yet. `log` is null for a store without one.
  Result<StreamPage> read(const ReadStreamInput& input, Log* log);
  StreamBounds bounds() const { return {oldest_, readable_}; }
  void wait(const Promise<bool>& waiter);
  void wake();

  // --- Trimming ---
  // Everything before that segment is about to go from the log, or is too old.
  void trim_before(uint32_t segment);
  // Nothing of before can be read (a log of before closed streams were kept).
  void trim_all();
  // Gives back some of what memory has of a stream that nobody will read any more; how many records it were.
  size_t forget(size_t records) { return memory_.forget(*this, records); }
  // Whether a record of this stream may be in segments before that one.
  bool needs_before_segment(uint32_t segment) const;

 private:
  friend class StreamMemory;
  struct Mark {
    uint64_t sequence;  // The first record in the log at or after `at`.
    LogPosition at;
  };
  size_t drop_oldest();  // Bytes given back.
  void add_mark(uint64_t sequence, LogPosition at);
  void count_marks(size_t before, size_t now) { memory_.mark_bytes_ += (now - before) * sizeof(Mark); }
  LogPosition place_before(uint64_t sequence) const;
  Result<void> read_log(const ReadStreamInput& input, Log& log, StreamPage& page);
  // Whether a page of so many records has no room for one more, with which it would be `bytes`. A first always fits.
  static bool full(const ReadStreamInput& input, size_t records, size_t bytes);
  ChangeRecord expose(const StreamRecord& record) const;
  uint64_t tail_first() const { return tail_.empty() ? next_ : tail_.front().sequence; }

  const uint32_t table_;
  const KeySchema keys_;
  StreamMemory& memory_;
  uint64_t next_ = 1;
  uint64_t logged_next_ = 1;  // Records before it are in the log.
  uint64_t readable_ = 1;     // Records before it are durable.
  uint64_t oldest_ = 1;
  std::deque<StreamRecord> tail_;  // Without gaps, up to next_ - 1.
  std::deque<Mark> marks_;         // By sequence, at least kMarkSpacing apart in the log.
  std::vector<Promise<bool>> waiters_;
};

}  // namespace freshet
