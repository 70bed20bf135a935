// The flight recorder: notes what happens in each queue, for `freshet recording` and "what if" (docs/simulate.md, "The
// flight recorder"). The store reports each change of a task's state to it, so it also has those of clients and of the
// TTL sweep. It reads limits, refusals and steps of the clock once a second.
//
// Loop thread. Clock and queues outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/api/task_queue.h"
#include "runtime/recorder/recording_book.h"
#include "tables/move_watcher.h"

namespace freshet {

class FlightRecorder final : public MoveWatcher {
 public:
  static constexpr size_t kMostBytes = 64u << 20;
  // A task is old at this age. Each move of an old task is recorded with the task's properties, because a recording may
  // begin after its creation. Moves of younger tasks may lack them.
  static constexpr milliseconds kOldAfter{30'000};
  // A recording goes back at most kMostAge. Events are kept for kKeptBeyond longer: they describe tasks that were young
  // when the recording begins, and a client may take a while to fetch it.
  static constexpr milliseconds kMostAge{3'600'000};
  static constexpr milliseconds kKeptBeyond{180'000};

  FlightRecorder(const Clock& clock, TaskQueues& queues, size_t most_bytes = kMostBytes);
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  void moved(const StatusMove& move) override;
  // Once a second.
  void tick();
  // A reading of the queue, about once a second.
  void read(const std::string& queue, const QueueReading& reading);

  const RecordingBook& book() const { return book_; }
  // When this recorder began. No other one since the machine booted has the same time.
  BootTime began() const { return began_; }
  // The time from which on the recording of a queue is complete, properties of tasks included; `forgot`: events before
  // that time have been dropped.
  struct Extent {
    BootTime from;
    bool forgot = false;
  };
  Extent extent_of(std::string_view queue) const;
  // The properties of a task in that state, in the form of a recording. Views into the item. `just_came`: leaves out
  // the age. `ttl_in_milliseconds`: as its queue says.
  RecordedTask about(const ItemRef& task, TaskStage stage, WallTime now, bool just_came,
                     bool ttl_in_milliseconds) const;

 private:
  struct Known {
    QueueReading reading;
    bool begun = false;
  };
  struct LastNumber {
    std::string encoded;
    int64_t value = 0;
    int64_t read(std::string_view from);  // Decodes the number.
  };
  // The encoded values of the properties that decide about a task; empty if the task lacks it.
  struct Decisive {
    std::string_view cost, created, deadline, group, key, max_attempts, not_before, priority, replace, ttl;
  };
  struct Source {
    uint64_t old = UINT64_MAX;  // Tasks up to this creation sequence were there before the first recorded arrival.
    QueueRecording* recording = nullptr;  // Null: at the last tick the table was not a queue.
    std::weak_ptr<const TaskQueue> queue{};
    uint32_t starts = 0;
    bool pulled = false;  // True if workers pull, as seen at every 64th claim.
    uint32_t ends = 0;
    bool has_costs = false;  // True once a task had a cost; until then only every 16th end is checked.
  };
  static Decisive decisive(const ItemRef& task);
  void find_source(const StatusMove& move);
  bool ttl_in_milliseconds(Source& source, const StatusMove& move) const;
  void begin_source(const StatusMove& move, Source& source);
  bool come_plainly(Source& source, const StatusMove& move, uint64_t task);
  static void look_at_start(Source& source, const ItemRef& task);
  void add(Source& source, const StatusMove& move, TaskStage from, TaskStage to, uint64_t task);
  void come(Source& source, const StatusMove& move, RecordedMove& out);

  const Clock& clock_;
  TaskQueues& queues_;
  const BootTime began_;
  RecordingBook book_;
  std::unordered_map<uint32_t, Source> tables_;  // By number.
  uint32_t last_table_ = 0;                      // The last one that was looked up; numbers begin with 1.
  Source* last_ = nullptr;
  WallTime last_wall_{};  // The clock is read once for all changes of a batch.
  int64_t now_ms_ = 0;
  // Creation sequences: tasks up to `old_` were created before kOldAfter, or are among the first of this daemon.
  uint64_t old_ = UINT64_MAX;
  uint64_t newest_ = UINT64_MAX;  // The newest at the time of the last mark.
  uint64_t seen_ = 0;
  bool begun_ = false;  // True once a task was created: those from before have lower sequences.
  // The last numbers that were read: tasks that come together often have the same TTL and deadline.
  mutable LastNumber ttl_;
  mutable LastNumber deadline_;
  BootTime marked_{};
  std::map<std::string, Known> known_;
  std::map<const QueueRecording*, uint32_t> recorded_;  // The number of the table that a recording is of.
};

}  // namespace freshet
