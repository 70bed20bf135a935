// The flight recorder's memory: what happened in each queue, for at most an hour, and within a bound of bytes for all
// queues together. Events are appended to chunks; nothing else is allocated for an event. The first chunk of a queue
// has 4 KiB, and as the queue fills them they grow to 64 KiB, so that many quiet queues share little memory. A chunk is
// dropped as a whole: when its last event is older than the bound of age, and when a new chunk needs its room. Then the
// queue with the most bytes loses its oldest chunk, so that a busy queue does not cost a quiet one its history. Among
// queues with equally many bytes, it is the one whose oldest chunk ended first.
//
// Loop thread. Times are on the boot clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/recorder/event_codec.h"

namespace freshet {

class RecordingBook;

// The events of one queue. The book owns it, and it never moves.
class QueueRecording {
 public:
  static constexpr size_t kLeastChunk = 4u << 10;
  static constexpr size_t kChunkBytes = 64u << 10;

  QueueRecording(RecordingBook& book, uint64_t number) : book_(book), number_(number) {}
  QueueRecording(const QueueRecording&) = delete;
  QueueRecording& operator=(const QueueRecording&) = delete;

  // Times must not fall; an earlier time counts as the time of the previous event.
  void add(const RecordedMove& move, BootTime now);
  // The same for special moves. add_plain(): a move with nothing but these MoveFlags. add(): a move with `about` as the
  // description of the task; null: there is none. add_arrival(): a new task that has no properties but its end.
  void add_plain(TaskStage from, TaskStage to, unsigned flags, uint64_t task, int64_t now_ms) {
    write(now_ms, kMostPlainBytes, [&](char* at) { return encode_plain(at, place_, now_ms, from, to, flags, task); });
  }
  void add(const RecordedMove& move, const RecordedTask* about, int64_t now_ms);
  void add_arrival(TaskStage to, uint64_t task, std::optional<int64_t> due_ms, bool due_by_ttl, int64_t now_ms) {
    write(now_ms, kMostPlainBytes,
          [&](char* at) { return encode_arrival(at, place_, now_ms, to, task, due_ms, due_by_ttl); });
  }
  void add(const RecordedLimits& limits, BootTime now);
  void add(const RecordedCount& count, BootTime now);
  void add_clock_step(milliseconds step, BootTime now);
  // Drops everything: from now on this is another queue of the same name.
  void begin_anew(BootTime now);

  // Where to read on: an event of a chunk.
  struct Position {
    uint64_t chunk = 0;  // Numbered from 1; 0: from the oldest event on.
    uint64_t event = 0;
    bool operator==(const Position&) const = default;
  };
  // Calls visit(event) for the events from `from` on, in their order, until it returns false, or `most` were visited.
  // Returns the position of the first event that was not visited. From a position that is gone, it reads the oldest
  // event there is. `visit` adds no events.
  Position read(Position from, size_t most, const std::function<bool(const RecordedEvent&)>& visit) const;
  // The beginning of a chunk such that all events at `time` or later are at or after it.
  Position position_at(BootTime time) const;
  // The end: the position of the next event that will be added.
  Position end() const;
  // True if the event at that position, or events between it and the oldest one, have been dropped. False for the end
  // of the chunk that was dropped last, as no event is missing after it.
  bool is_gone(Position position) const {
    if (position.chunk == 0 || position.chunk >= first_chunk_) return false;
    return position.chunk + 1 < first_chunk_ || position.event < dropped_events_;
  }

  // When begin_anew() was called. Empty: the recording began with the book.
  std::optional<BootTime> began() const { return began_; }
  // The time of the last event that has been dropped since then; empty if none has.
  std::optional<BootTime> forgotten_until() const { return forgotten_until_; }
  size_t bytes() const { return bytes_; }
  size_t chunks() const { return chunks_.size(); }

 private:
  friend class RecordingBook;
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
    char* next = nullptr;  // The end of its events.
    char* end = nullptr;   // The end of its bytes.
    uint64_t events = 0;
    int64_t began_ms = 0;  // Boot time.
    int64_t last_ms = 0;
  };
  // Orders the queues that may lose a chunk: the first one does.
  struct Rank {
    size_t bytes = 0;
    int64_t last_ms = 0;  // Chunk::last_ms of its oldest chunk.
    uint64_t number = 0;
    QueueRecording* queue = nullptr;
    bool operator<(const Rank& other) const {
      if (bytes != other.bytes) return bytes > other.bytes;
      return last_ms != other.last_ms ? last_ms < other.last_ms : number < other.number;
    }
  };

  // The event takes at most `most` bytes.
  template <class Encode>
  void write(int64_t now_ms, size_t most, Encode&& encode) {
    if (open_ == nullptr || static_cast<size_t>(open_->end - open_->next) < most) open_chunk(now_ms);
    open_->next = encode(open_->next);
    open_->last_ms = place_.at_ms;
    ++open_->events;
  }
  void open_chunk(int64_t now_ms);
  void drop_oldest();
  Rank rank_now();

  RecordingBook& book_;
  const uint64_t number_;
  std::deque<Chunk> chunks_;
  Chunk* open_ = nullptr;     // The last chunk.
  size_t bytes_ = 0;          // The bytes of all chunks.
  uint64_t first_chunk_ = 1;  // The number of the first chunk.
  uint64_t dropped_events_ =
      0;  // The number of events in the chunk that was dropped last. UINT64_MAX: it belonged to another queue.
  CodecPlace place_;
  std::optional<BootTime> began_;
  std::optional<BootTime> forgotten_until_;
  Rank rank_;  // As it is in the book, if there is a chunk.
};

class RecordingBook {
 public:
  // `most_bytes` is at least 64 KiB.
  explicit RecordingBook(size_t most_bytes, milliseconds most_age = std::chrono::hours(1));
  RecordingBook(const RecordingBook&) = delete;
  RecordingBook& operator=(const RecordingBook&) = delete;

  // Makes the recording if there is none. It lives as long as the book.
  QueueRecording& of(std::string_view queue);
  // Null if there is none.
  const QueueRecording* find(std::string_view queue) const;
  // Once a second: drops chunks whose last event is too old, and notes in each queue if the wall clock was set.
  void tick(WallTime wall, BootTime now);
  // The time of `at` by the wall clock as it is set now. A recording has these times, so that a step of the clock
  // leaves no gap in it.
  WallTime wall_of(BootTime at) const;
  // The time on the boot clock at which the wall clock showed `at`, as far as its steps are known: the last one up to
  // `now`, if it showed it more than once.
  BootTime boot_of(WallTime at, BootTime now) const;
  // The bytes of all chunks.
  size_t bytes() const { return bytes_; }

 private:
  friend class QueueRecording;
  struct Step {
    BootTime at;
    milliseconds by;
  };
  void make_room(size_t bytes);
  // Call it when the bytes or the oldest chunk of the queue have changed.
  void rank(QueueRecording& queue, bool is_ranked);

  const size_t most_bytes_;
  const milliseconds most_age_;
  std::map<std::string, std::unique_ptr<QueueRecording>, std::less<>> queues_;
  std::set<QueueRecording::Rank> ranks_;  // The ranks of queues with a chunk.
  size_t bytes_ = 0;
  std::optional<milliseconds> ahead_;  // How far the wall clock is ahead of the boot clock.
  std::optional<BootTime> first_tick_;
  std::deque<Step> steps_;
};

}  // namespace freshet
