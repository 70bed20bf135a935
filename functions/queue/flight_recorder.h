// The flight recorder: notes what happens in each queue, for `freshet recording` and "what if" (docs/simulate.md,
// "The flight recorder"). It hears of each change of a task's state from the store, so that it has those of clients and
// of the TTL sweep, too; limits, refusals and steps of the clock it gets once a second.
//
// Loop thread. Clock and queues outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "runtime/recorder/recording_book.h"
#include "runtime/task_queue.h"
#include "tables/move_watcher.h"
#include "tables/value/name_slots.h"

namespace freshet {

class FlightRecorder final : public MoveWatcher {
 public:
  static constexpr size_t kMostBytes = 64u << 20;
  // A move of a task that was created before this has the task's properties, so that a recording that begins in between
  // has them. A task that is younger than kOldAfter may be without.
  static constexpr milliseconds kOldAfter{30'000};

  FlightRecorder(const Clock& clock, TaskQueues& queues, size_t most_bytes = kMostBytes);
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  void moved(const StatusMove& move) override;
  // Once a second.
  void tick();
  // A reading of the queue, about once a second.
  void read(const std::string& queue, const QueueReading& reading);

  const RecordingBook& book() const { return book_; }
  // The properties of a task in that state, as a recording has them. Views into the item. `just_came`: its age is left
  // out.
  RecordedTask about(const ItemRef& task, TaskStage stage, WallTime now, bool just_came) const;

 private:
  struct Known {
    QueueReading reading;
    bool begun = false;
  };
  struct LastNumber {
    std::string encoded;
    int64_t value = 0;
  };
  struct Source {
    QueueRecording* recording = nullptr;  // Null: it is no queue, as of the last tick.
    uint32_t starts = 0;
    bool pulled = false;  // As the last look at a claim showed; every 16th is looked at.
    uint32_t ends = 0;
    bool has_costs = false;  // True once a task had a cost; until then, every 16th end is looked at.
  };
  Source& source_of(const StatusMove& move);
  static int64_t read(LastNumber& last, std::string_view encoded);

  const Clock& clock_;
  TaskQueues& queues_;
  RecordingBook book_;
  const NameSlots names_;
  std::unordered_map<uint32_t, Source> tables_;  // By number.
  uint32_t last_table_ = 0;                      // The one that was asked for last; numbers begin with 1.
  Source* last_ = nullptr;
  WallTime last_wall_{};  // The clock is read once for all changes of a batch.
  BootTime now_{};
  // Creation sequences: tasks up to `old_` were created before kOldAfter, or are among the first of this daemon.
  uint64_t old_ = UINT64_MAX;
  uint64_t newest_ = UINT64_MAX;  // The newest at the time of the last mark.
  uint64_t seen_ = 0;
  bool begun_ = false;  // True once a task came: all those that were there before have lower sequences.
  // The last numbers that were read: tasks that come together often have the same TTL and deadline.
  mutable LastNumber ttl_;
  mutable LastNumber deadline_;
  BootTime marked_{};
  std::map<std::string, Known> known_;
};

}  // namespace freshet
