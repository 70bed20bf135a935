// One event source mapping: reads a table's stream and invokes a function with batches of records, in order.
//
// At least once, in order: a batch is delivered (synchronously) before the next. The position is an item of the system
// table, written after success: in the same turn when the stream has been drained, at the latest kSaveEvery later; what
// was delivered since is delivered again after a crash. A position that only skipped filtered records waits for
// kSaveSkipped, so that it costs no commit of its own while the stream is busy.
//
// A batch holds what is there, up to batch_size records or kMaxBatchBytes; with a window it waits that long for more.
// After an error of the function the batch is tried again, later and later; a place or endpoint that is not there costs
// no retry. Bisecting splits a batch that failed instead (which costs no retry either), down to single records. What is
// given up (too old, out of retries) is described to the failure destination. Loop thread only.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "runtime/invoke/definitions.h"
#include "runtime/invoke/destinations.h"
#include "runtime/invoke/function_invoker.h"
#include "streams/pattern.h"
#include "streams/stream_reader.h"
#include "tables/tables.h"

namespace freshet {

class EventSourceMapping {
 public:
  // All must outlive it.
  struct Parts {
    Tables& tables;
    Scheduler& scheduler;
    FunctionInvoker& invoker;
    StreamReader& streams;
    Destinations& destinations;
    Account account;
    EventLog log;
  };
  struct Position {
    std::string label;  // Of the stream that it is a place in.
    uint64_t next = 0;
    bool operator==(const Position&) const = default;
  };

  // kValidation for numbers out of range and bad filters.
  static Result<void> check(const MappingDefinition& definition);
  static Item position_item(const std::string& mapping_id, const Position& position);
  static std::optional<Position> position_of(const Item& item);

  // `definition` has been checked. Without a position it starts where the definition says.
  EventSourceMapping(Parts parts, MappingDefinition definition, std::optional<Position> position);
  EventSourceMapping(const EventSourceMapping&) = delete;
  EventSourceMapping& operator=(const EventSourceMapping&) = delete;

  void start();                     // Unless it is disabled.
  void pause() { paused_ = true; }  // Delivers nothing more after the batch that is under way.
  bool delivering() const { return delivering_; }
  Async<void> save();  // Writes the position if it has moved.

  const MappingDefinition& definition() const { return definition_; }
  const std::optional<Position>& position() const { return position_; }
  const std::string& last_error() const { return last_error_; }

 private:
  struct Pending {
    ChangeRecord record;
    BootTime born{};  // When the record was made, on this clock.
  };
  struct Part {
    std::vector<Pending> records;
    int attempts = 0;
  };

  Async<void> run();
  Async<void> attach();
  Async<bool> fill();
  Async<bool> read_page(BootTime wait_until);
  void take(StreamPage page);
  bool passes(const ChangeRecord& record);
  std::vector<Pending> cut_batch();
  Async<void> deliver(std::vector<Pending> records);
  Async<bool> try_part(Part& part);
  Async<void> after_error(std::deque<Part>& parts);
  Async<void> drop_old(Part& part);
  Async<void> give_up(std::vector<Pending> records, std::string condition, int attempts);
  Async<void> wait_retry(int times, const Part& part);
  void delivered(const Pending& last);

  const Parts parts_;
  const MappingDefinition definition_;
  std::vector<Pattern> filters_;
  bool filters_see_items_ = false;              // Their answer can differ between records of one kind.
  std::array<std::optional<bool>, 6> passing_;  // Else: the answer by kind and origin, once known.

  StreamSource source_;
  std::optional<Position> position_;  // All before it is done.
  std::optional<Position> saved_;
  BootTime saved_at_{};
  bool saving_ = false;
  uint64_t read_from_ = 0;
  std::deque<Pending> buffer_;  // Read, passed the filter, not delivered.
  BootTime buffer_since_{};
  int throttles_ = 0;  // In a row.
  bool paused_ = false;
  bool delivering_ = false;
  std::string last_error_;
  Scope work_;  // Last: ended first.
};

}  // namespace freshet
