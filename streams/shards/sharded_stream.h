// One reader of a stream of a remote engine: finds the shards, reads each of them after its parents, and hands on all
// records in one order with numbers of its own (shard_order.h). The changes of an item are in order.
//
// At least once: a reader that starts again goes on after the marks that it stored, and numbers what follows anew, so
// a number means nothing beyond the life of this object. Iterators that have expired are made again. Where the engine
// no longer keeps changes that were not read, the event STREAM_RECORDS_LOST reports that, and reading goes on with the
// oldest change that is kept.
//
// It holds kMostRecords entries or about kMostBytes that are not processed, and at most kMostPages pages more: so many
// shards are read at a time, and the others have their turns after them. A page is about 1 MB of the engine's JSON.
// In a fleet, one daemon at a time reads for a reader, but one that is about to stop may still store its marks, and a
// write may stay without an answer. Whenever a mark cannot be stored, this object reads what is stored, and goes on
// from there. A mark never goes back.
//
// Loop thread. Everything that it refers to must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "streams/shards/engine_streams.h"
#include "streams/shards/shard_checkpoints.h"
#include "streams/shards/shard_order.h"
#include "streams/shards/shard_plan.h"
#include "tables/tables.h"

namespace freshet {

// All must outlive the streams.
struct ShardedParts {
  EngineStreams& engine;
  Tables& tables;
  Scheduler& scheduler;
  EventLog log;
  // The marks are in the system table or, in a fleet, in a table that all its daemons have (tables/lease/).
  std::string shared_table = {};
  bool is_shared() const { return !shared_table.empty(); }
};

// A reader, and the table whose stream it reads.
struct ShardReader {
  std::string id;  // The mapping's.
  std::string table;
};

class ShardedStream {
 public:
  static constexpr size_t kMostRecords = 10'000;
  static constexpr size_t kMostBytes = 4u << 20;
  static constexpr size_t kMostPages = 4;

  // `first`: the number of the first record; above all that the reader used before.
  ShardedStream(const ShardedParts& parts, ShardReader reader, EngineStream stream, ShardCheckpoints checkpoints,
                uint64_t first);
  ShardedStream(const ShardedStream&) = delete;
  ShardedStream& operator=(const ShardedStream&) = delete;

  // Lists the shards and begins to read. `latest`: only what is changed from now on. Call it once, first. Errors are
  // those of the engine; then nothing is read.
  Async<Result<void>> open(bool latest);

  // See Tables::read_stream(); table, label and skip are ignored.
  Async<Result<StreamPage>> read(ReadStreamInput input);
  // Stores `with` and that everything before `processed` is processed, which is then forgotten.
  Async<Result<void>> save(uint64_t processed, std::vector<WriteInput> with);

  uint64_t oldest() const { return order_.oldest(); }
  // Nothing comes at `from` or after it before more is processed.
  bool is_full_at(uint64_t from) const { return !has_room() && from >= order_.next(); }
  // The stream was switched off, and all of it was handed on: no record has this number or a higher one.
  std::optional<uint64_t> end() const { return end_; }
  const EngineStream& stream() const { return stream_; }
  const std::string& id() const { return reader_.id; }
  const std::string& table() const { return reader_.table; }
  ShardCheckpoints& checkpoints() { return checkpoints_; }
  // Why the engine cannot be read now, wholly or in part; or empty.
  std::string trouble() const { return trouble_.empty() ? std::string() : trouble_.begin()->second; }
  size_t reading() const { return plan_.reading(); }  // The number of shards that are being read.
  size_t bytes() const { return order_.bytes(); }

  // Changes when records are found to be lost, at the latest with the records behind the gap, and when the reader is
  // made anew. It stays as it is over restarts and between daemons; after a loss it may change once more then.
  std::string continuity() const;

  // The engine's names of records that are not processed.
  const ShardOrder::Name* name(uint64_t sequence) const { return order_.name(sequence); }

 private:
  // Where a shard is read.
  struct Place {
    std::string iterator;  // Empty: get one.
    std::string after;     // The number of the last record that was read; empty: none.
    // Changes before the start are passed over. False while it reads from where the engine said that new changes
    // begin.
    bool by_time = true;
    bool passes = false;  // The last page was passed over to its end.
    int failures = 0;     // In a row.
    int empty_pages = 0;  // In a row.
  };
  enum class Found { kRecords, kFailure, kEnd };

  Async<Result<std::vector<ListedShard>>> list();
  Async<Result<void>> take_latest(std::vector<ListedShard> all);
  void take_list(const std::vector<ListedShard>& all);
  void begin();
  Async<void> watch();
  void finish_if_over();

  Async<void> follow(std::string shard);
  Async<Found> read_in_turn(const std::string& shard, Place& place);
  Async<void> turn();
  void end_turn();
  Async<Found> read_once(const std::string& shard, Place& place);
  Found failed(const std::string& shard, Place& place, const Error& error);
  void in_trouble(const std::string& shard, int failures, const Error& error);
  void take(const std::string& shard, Place& place, ShardRecords page);
  bool is_too_old(const ChangeRecord& record) const;
  void lost(const std::string& shard, std::string_view reason);

  bool has_room() const { return order_.bytes() < kMostBytes && order_.next() - order_.oldest() < kMostRecords; }
  Async<void> news(std::vector<Promise<bool>>& waiters, BootTime until);
  static void wake(std::vector<Promise<bool>>& waiters);
  void merge(std::vector<std::pair<std::string, ShardMark>> marks);
  Async<Result<void>> write(std::vector<WriteInput> writes);
  Async<Result<void>> store_marks(std::vector<WriteInput> with);
  Async<Result<void>> learn_marks();
  void drop_passed_marks();
  Async<Result<void>> remove_unneeded();

  const ShardedParts& parts_;
  const ShardReader reader_;
  EngineStream stream_;
  ShardCheckpoints checkpoints_;
  ShardOrder order_;
  ShardPlan plan_;
  std::map<std::string, std::string> latest_;  // By shard: iterators that open() got.
  std::optional<uint64_t> end_;
  std::map<std::string, std::string> trouble_;  // By shard, and that of lists at "".
  std::vector<std::pair<std::string, ShardMark>> unsaved_;
  int64_t stored_loss_;                // The part of checkpoints_.lost_at() that is stored.
  std::vector<std::string> unneeded_;  // Shards whose marks are to be removed.
  bool saving_ = false;
  BootTime listed_at_{};
  int lists_soon_ = 0;                  // The number of lists that follow soon.
  size_t turns_ = 0;                    // The number of shards that have their turn.
  std::deque<Promise<bool>> queue_;     // Those that wait for theirs.
  std::vector<Promise<bool>> readers_;  // Wait for records,
  std::vector<Promise<bool>> rooms_;    // for room,
  std::vector<Promise<bool>> ends_;     // for the end of a shard,
  std::vector<Promise<bool>> savers_;   // for the end of a save.
  Scope work_;                          // The last member, so that it is destroyed first.
};

}  // namespace freshet
