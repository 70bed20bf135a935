// The change streams of a remote engine, as its protocol has them: each consists of shards. A shard has its changes in
// order, and ends when it is split, merged or as old as the engine lets it grow; its children have what follows.
//
// Loop thread. An implementation must outlive every Async that it returned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

struct EngineStream {
  std::string arn;
  std::string label;
  StreamView view = StreamView::kKeysOnly;
  bool open = true;  // False: it was switched off, and gets no more changes.
};

struct ListedShard {
  std::string id;
  std::vector<std::string> parents;  // Empty for a first shard. A parent that is no longer listed has been trimmed.
  bool closed = false;               // True if it gets no more changes.
};

// One page of a stream's shards.
struct ShardPage {
  EngineStream stream;
  std::vector<ListedShard> shards;
  std::string last;  // The shard after which the next page begins; empty: there is none.
};

enum class ShardStart { kHorizon, kLatest, kAfter };

struct ShardRecord {
  ChangeRecord record;   // Its sequence is 0: the engine's numbers are texts.
  std::string number;    // The engine's sequence number; it rises within a shard.
  std::string event_id;  // May be empty.
};

// An engine's names of a record. Without a number: they are not known.
struct RecordName {
  std::string shard;
  std::string number;
  std::string event_id;
};

struct ShardRecords {
  std::vector<ShardRecord> records;  // In order.
  std::string next;                  // The iterator of the next page; empty at the shard's end.
};

class EngineStreams;

// The tables before a remote engine inherit this, too, if its streams may be read.
class HasEngineStreams {
 public:
  virtual ~HasEngineStreams() = default;
  virtual EngineStreams* engine_streams() = 0;  // Null: they may not be read. Lives as long as the tables.
};

class EngineStreams {
 public:
  virtual ~EngineStreams() = default;

  // The table's latest stream, open or closed. kResourceNotFound if there is no such table, or it never had a stream.
  virtual Async<Result<EngineStream>> stream_of(std::string table) = 0;
  // The page of shards behind the shard `after`; empty: the first page. kResourceNotFound if the stream is gone.
  virtual Async<Result<ShardPage>> shards(std::string arn, std::string after) = 0;
  // Returns an iterator. `after` is a sequence number, for kAfter only. kTrimmedDataAccess if the changes behind it are
  // no longer kept, kResourceNotFound if the shard is gone.
  virtual Async<Result<std::string>> iterator(std::string arn, std::string shard, ShardStart start,
                                              std::string after) = 0;
  // kExpiredIterator, kTrimmedDataAccess, kResourceNotFound. An empty page does not mean that there is nothing more.
  virtual Async<Result<ShardRecords>> records(std::string iterator) = 0;
  // The time by the engine's clock, which its records have: it is that, or up to a second later. Empty: it is not
  // known.
  virtual std::optional<WallTime> engine_time() const { return std::nullopt; }
};

}  // namespace freshet
