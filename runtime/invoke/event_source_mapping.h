// One event source mapping: a table's stream drives a function, in as many lanes as its parallelization factor says
// (mapping_lane.h).
//
// It reads the streams of its table one after the other: a stream that was switched off, or whose table was deleted, to
// its end, then the next. Records that are trimmed before it has seen them are lost; the event STREAM_RECORDS_LOST
// reports that.
//
// Its definition may change while it runs: every lane finishes its current batch, then all continue from their
// positions with the new definition. Disabling is such a change. Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async.h"
#include "runtime/invoke/definitions.h"
#include "runtime/invoke/mapping_lane.h"
#include "runtime/invoke/mapping_position.h"

namespace freshet {

class EventSourceMapping {
 public:
  // kValidation for numbers out of range and bad filters.
  static Result<void> check(const MappingDefinition& definition);
  // The same for a table in a remote engine: kValidation for what only the embedded store's streams have,
  // kLimitExceeded if `others`, the number of mappings that read the table already, is too high.
  static Result<void> check_on_engine(const MappingDefinition& definition, const FunctionDefinition& function,
                                      size_t others);

  // `definition` has been checked. Without a position it starts where the definition says.
  EventSourceMapping(MappingParts parts, MappingDefinition definition, std::optional<MappingPosition> position);
  EventSourceMapping(const EventSourceMapping&) = delete;
  EventSourceMapping& operator=(const EventSourceMapping&) = delete;

  void start();
  // Continues with `definition` (checked, same id), from `position` if there is one.
  void change(MappingDefinition definition, std::optional<MappingPosition> position);
  void pause();  // Delivers nothing more after the current batches. Permanent.
  // Delivers nothing more after the current batches, until resume(). Then it goes on where the stored position is,
  // which another daemon may have moved. Only in a fleet.
  void hold();
  void resume();
  // True while a batch or a write of a position is in progress.
  bool busy() const;
  // False once it is held, and nothing of it is under way any more.
  bool runs() const { return running_; }
  Async<void> save();  // Writes the positions that have changed.

  // The latest definition, which may not be in force yet.
  const MappingDefinition& definition() const { return next_ ? *next_ : shared_.definition; }
  uint64_t position() const { return has_position_ ? shared_.position.next() : 0; }
  std::string last_error() const;        // The reason why it waits, or empty.
  std::string_view state() const;        // "Enabled", "Disabled", "Enabling", "Disabling", "Updating".
  std::string_view last_result() const;  // "OK", "No records processed", "PROBLEM: Function call failed".

 private:
  using End = MappingLane::End;

  Async<void> run();
  void interrupt();
  // True if what it just found is outdated: run() must begin again.
  bool is_interrupted() const { return next_ || paused_ || held_ || is_stale_; }
  void close_shards();
  Async<bool> attach();
  Async<bool> attach_to_shards();
  Async<bool> store_start(MappingPosition position, std::vector<WriteInput> start);
  Async<void> keep_position(MappingPosition before);
  Async<std::optional<std::string>> next_stream();
  Async<std::optional<std::string>> open_stream();
  void log_lost_stream() const;
  void go_to(const StreamDescription& stream);
  Async<void> work();
  void lane_ended(End how);
  void stop_lanes();
  void apply_change();
  bool any_lane(bool (MappingLane::*what)() const) const;

  const MappingParts parts_;
  MappingShared shared_;
  bool has_position_ = false;
  std::optional<MappingDefinition> next_;  // The definition that comes into force next.
  std::optional<MappingPosition> next_position_;
  bool running_ = false;
  bool paused_ = false;
  bool held_ = false;
  bool is_stale_ = false;  // It was held since it read the position.
  bool resting_ = false;   // True while it waits for a stream.
  std::string attach_error_;
  bool delivered_any_ = false;
  std::vector<std::unique_ptr<MappingLane>> lanes_;
  size_t lanes_running_ = 0;
  bool stream_over_ = false;
  std::optional<Promise<bool>> lanes_over_;
  Scope work_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
