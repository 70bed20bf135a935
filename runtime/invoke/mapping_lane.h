// One lane of an event source mapping: reads the stream from its position, keeps its own records that pass the filters,
// and delivers them in batches, one after the other.
//
// At least once, in order: a batch is delivered (synchronously) before the next. The position is written after success:
// in the same turn if the stream is drained, else at most kSaveEvery later. Batches that were delivered since then are
// delivered again after a crash. A position that only skipped records waits for kSaveSkipped, so that it costs no
// commit of its own while the stream is busy.
//
// A batch holds the available records, up to batch_size records or kMaxBatchBytes; with a batching window it waits that
// long for more, until it is full. On an engine it is full, too, when the stream has no room for more. After an error
// of the function the batch is retried with growing delays; a missing place or endpoint does not count as a retry.
// Bisecting splits a failed batch instead (which does not count as a retry either), down to single records. The failure
// destination gets a description of each batch that is given up (too old, out of retries).
//
// With a tumbling window a batch holds records of one window; the function gets the state that it returned before. A
// window ends when a record of a later one arrives, or kWindowGrace after its end by the clock. At its end the function
// is invoked without records; that call is retried until it succeeds. A record that arrives later opens its window
// again. Loop thread only.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "base/wall_guard.h"
#include "runtime/invoke/definitions.h"
#include "runtime/invoke/destinations.h"
#include "runtime/invoke/function_invoker.h"
#include "runtime/invoke/mapping_batch.h"
#include "runtime/invoke/mapping_position.h"
#include "streams/pattern.h"
#include "streams/shards/sharded_streams.h"
#include "streams/stream_reader.h"

namespace freshet {

// The objects that mappings use; all must outlive them.
struct MappingParts {
  Tables& tables;
  Scheduler& scheduler;
  FunctionInvoker& invoker;
  StreamReader& streams;
  Destinations& destinations;
  Account account;
  EventLog log;
  WallGuard& wall;
  ShardedStreams* shards = nullptr;  // Set if the tables are in a remote engine: then their streams have shards.
  // True in a fleet: the marks of shards are stored in the fleet's table, and no positions of lanes.
  bool is_shared() const { return shards != nullptr && shards->is_shared(); }
};

// The state that the lanes of one mapping share: constant while there are lanes, except for each lane's own position.
struct MappingShared {
  MappingDefinition definition;
  MappingPosition position;
  StreamSource source;
  std::optional<uint64_t> stream_end;  // For a closed stream: no record has this number or a higher one.
  ShardedStreamPtr shards;             // Null: the stream is one of the tables.
  size_t stale_parts = 0;              // The number of stored parts of the window's last written state.
};

class MappingLane {
 public:
  enum class End {
    kStopped,
    kStreamOver,  // The stream is closed, and all of it is processed.
    kLookAgain,   // The stream can no longer be read from here.
  };

  // `ended` is called once, as the last call, and must not destroy the lane. All must outlive it.
  MappingLane(const MappingParts& parts, MappingShared& shared, size_t index, std::function<void(End)> ended);
  MappingLane(const MappingLane&) = delete;
  MappingLane& operator=(const MappingLane&) = delete;

  void start() { work_.spawn(run()); }
  // Delivers nothing more after the current batch, for which it waits.
  void stop();
  bool busy() const {
    return !ended_ && !resting_;
  }                    // True while something is in progress that should not be
                       // interrupted.
  Async<void> save();  // Writes the position if it has changed.

  const std::string& last_error() const { return last_error_; }  // The reason why it waits, or empty.
  bool failing() const { return failing_; }                      // True if the last invocation failed.
  bool delivered_any() const { return delivered_any_; }

 private:
  struct Pending {
    ChangeRecord record;
    BootTime born{};  // The time of the record, on this clock.
  };
  struct Part {
    std::vector<Pending> records;
    int attempts = 0;
  };
  struct Tried {
    bool good = false;
    bool throttled = false;  // True if the function was not called.
    std::string payload = {};
  };

  const MappingDefinition& definition() const { return shared_.definition; }
  LanePosition& place() { return shared_.position.lanes[index_]; }
  const Clock& clock() const { return parts_.scheduler.clock(); }

  // Reading (mapping_lane.cc).
  Async<void> run();
  Async<std::optional<End>> fill();
  Async<std::optional<End>> read_page(BootTime wait_until);
  Async<void> pass_others();
  Async<bool> same_stream();
  std::optional<uint64_t> stream_end() const { return shared_.shards ? shared_.shards->end() : shared_.stream_end; }
  Async<void> take(StreamPage page);
  bool is_mine(const ChangeRecord& record) const;
  bool passes(const ChangeRecord& record, size_t& done);  // Adds the work of its filters to `done`.
  std::vector<Pending> cut_batch();
  bool batch_is_full() const;
  bool batch_is_due() const;
  // The next record to deliver, once all that were taken from the buffer are processed.
  uint64_t next_of_own() const { return buffer_.empty() ? read_from_ : buffer_.front().record.sequence; }
  void note_saved(const Result<void>& written);
  Async<void> rest(nanoseconds time);
  void end(End how);

  // Delivering (mapping_deliver.cc).
  Async<void> deliver(std::vector<Pending> records);
  Async<Tried> invoke(std::vector<ChangeRecord> records, std::string more);
  Async<bool> try_part(Part& part);
  bool take_answer(Part& part, const std::string& payload);
  Async<void> after_error(std::deque<Part>& parts);
  Async<void> drop_old(Part& part);
  Async<bool> give_up(std::vector<Pending> records, std::string condition, int attempts);
  std::vector<DroppedBatch> descriptions_of(const std::vector<Pending>& records) const;
  Async<bool> send_description(std::string document);
  Async<void> wait_retry(int times, const Part& part);
  void delivered(const Pending& last) { place().next = last.record.sequence + 1; }

  // Tumbling windows (mapping_deliver.cc).
  bool windowed() const { return definition().tumbling_window > seconds(0); }
  int64_t window_start(const ChangeRecord& record) const;
  bool state_too_large();
  std::optional<BootTime> window_end();  // The time at which the open window ends if no record comes.
  bool window_is_over();
  std::string window_text(bool last, bool early);
  Async<void> finish_window();

  const MappingParts& parts_;
  MappingShared& shared_;
  const size_t index_;
  const std::function<void(End)> ended_with_;
  std::vector<Pattern> filters_;
  bool filters_see_items_ = false;              // True if the filters can give different answers for records of one
                                                // kind.
  std::array<std::optional<bool>, 6> passing_;  // Otherwise: the answer by kind and origin, once it is known.

  std::optional<LanePosition> saved_;
  BootTime saved_at_{};
  bool saving_ = false;
  uint64_t read_from_ = 0;
  std::deque<Pending> buffer_;  // Records that were read, passed the filter, and are not delivered.
  size_t buffer_bytes_ = 0;     // The size of their keys and images.
  BootTime buffer_since_{};
  int throttles_ = 0;  // The number of throttled attempts in a row.
  bool stop_ = false;
  bool ended_ = false;
  bool resting_ = false;  // True while it waits for records or for time: stop() may end it there.
  bool failing_ = false;
  bool delivered_any_ = false;
  std::string last_error_;
  std::string save_error_;  // The error that was logged last; empty once the position is written.
  Scope work_;              // The last member, so that it is destroyed first.
};

}  // namespace freshet
