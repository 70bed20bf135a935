// The flight recorder's memory: what happened in each queue, for at most an hour and at most so many bytes for all
// queues together. Events are appended to chunks of 64 KiB; nothing else is allocated for an event. A chunk is dropped
// as a whole: when its last event is older than the bound of age, and when a new chunk needs its room. Then the queue
// with the most chunks loses its oldest, so that a loud queue does not cost a quiet one its history.
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
#include <string>
#include <string_view>

#include "runtime/recorder/event_codec.h"

namespace freshet {

class RecordingBook;

// The events of one queue. The book owns it, and it never moves.
class QueueRecording {
 public:
  static constexpr size_t kChunkBytes = 64u << 10;

  explicit QueueRecording(RecordingBook& book) : book_(book) {}
  QueueRecording(const QueueRecording&) = delete;
  QueueRecording& operator=(const QueueRecording&) = delete;

  // Times must not fall; one that does counts as the time of the event before it.
  void add(const RecordedMove& move, BootTime now) {
    write(now, [&](char* at) { return encode(at, place_, now, move); });
  }
  void add(const RecordedLimits& limits, BootTime now);
  void add(const RecordedCount& count, BootTime now);
  void add_clock_step(milliseconds step, BootTime now);

  // Where to read on: an event of a chunk. Places stay valid when chunks are dropped: what follows then begins with the
  // oldest event there is.
  struct Place {
    uint64_t chunk = 0;  // Numbered from 1; 0: from the oldest event on.
    uint64_t event = 0;
    bool operator==(const Place&) const = default;
  };
  // Calls visit(event) for the events from `from` on, in their order, until it returns false, or `most` were visited.
  // Returns the place of the first event that was not visited. `visit` adds no events.
  Place read(Place from, size_t most, const std::function<bool(const RecordedEvent&)>& visit) const;
  // The end: the place of the next event that will be added.
  Place end() const;
  // The time of the oldest event; empty if there is none.
  std::optional<BootTime> oldest() const;
  // True if events have been dropped since the book began.
  bool has_forgotten() const { return first_chunk_ > 1; }
  size_t chunks() const { return chunks_.size(); }

 private:
  friend class RecordingBook;
  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t used = 0;
    uint64_t events = 0;
    int64_t began_ms = 0;  // Boot time.
    int64_t last_ms = 0;
  };

  template <class Encode>
  void write(BootTime now, Encode&& encode) {
    if (chunks_.empty() || chunks_.back().used + kMostEventBytes > kChunkBytes) open_chunk(now);
    Chunk& chunk = chunks_.back();
    char* const begin = chunk.bytes.get();
    chunk.used = static_cast<size_t>(encode(begin + chunk.used) - begin);
    chunk.last_ms = place_.at_ms;
    ++chunk.events;
  }
  void open_chunk(BootTime now);
  void drop_oldest();

  RecordingBook& book_;
  std::deque<Chunk> chunks_;
  uint64_t first_chunk_ = 1;  // The number of the first of them.
  CodecPlace place_;
};

class RecordingBook {
 public:
  // `most_bytes` is at least one chunk.
  explicit RecordingBook(size_t most_bytes, milliseconds most_age = std::chrono::hours(1));
  RecordingBook(const RecordingBook&) = delete;
  RecordingBook& operator=(const RecordingBook&) = delete;

  // Makes it if there is none. It lives as long as the book.
  QueueRecording& of(std::string_view queue);
  // Null if there is none.
  const QueueRecording* find(std::string_view queue) const;
  // Once a second: drops chunks whose last event is too old, and notes in each queue if the wall clock was set.
  void tick(WallTime wall, BootTime now);
  // The time on the wall clock, had it always gone as it goes now. A recording has these times, so that a step of the
  // clock does not tear it.
  WallTime wall_of(BootTime at) const;
  // The time on the boot clock at which the wall clock showed `at`, as far as its steps are known.
  BootTime boot_of(WallTime at) const;
  // The bytes of all chunks.
  size_t bytes() const { return chunks_ * QueueRecording::kChunkBytes; }
  milliseconds most_age() const { return most_age_; }

 private:
  friend class QueueRecording;
  struct Step {
    BootTime at;
    milliseconds by;
  };
  void make_room();

  const size_t most_chunks_;
  const milliseconds most_age_;
  std::map<std::string, std::unique_ptr<QueueRecording>, std::less<>> queues_;
  size_t chunks_ = 0;
  std::optional<milliseconds> ahead_;  // The wall clock beside the boot clock.
  std::deque<Step> steps_;
};

}  // namespace freshet
