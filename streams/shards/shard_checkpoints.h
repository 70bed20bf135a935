// The positions of one reader in a stream's shards, and how they are stored: an item of the system table for each
// shard, and one for the start (docs/formats.md). Each has a `rev` that only rises, and is written on the condition
// that the stored one is what this object knows: of two readers that go on from one position, only one can store its
// next. Pure, except for load_checkpoints(); loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "streams/shards/shard_order.h"
#include "tables/tables.h"

namespace freshet {

class ShardCheckpoints {
 public:
  ShardCheckpoints() = default;
  // A reader that starts in a stream. `start` differs from that of its earlier starts, whose marks have no meaning any
  // more. `arn`: the stream's, or empty if it is not known. `since`: set if it wants only what is changed from then on.
  ShardCheckpoints(std::string reader, std::string label, std::string arn, int64_t start,
                   std::optional<WallTime> since);

  const std::string& reader() const { return reader_; }
  const std::string& label() const { return label_; }  // The stream's.
  const std::string& arn() const { return arn_; }
  int64_t start() const { return start_; }
  std::optional<WallTime> since() const { return since_; }
  // The shard's mark; null if nothing of it is stored.
  const ShardMark* find(const std::string& shard) const;
  std::vector<std::pair<std::string, ShardMark>> all() const;

  // The reader never wants these shards: their marks are over, and stored with the start. Call it before
  // start_writes().
  void pass(const std::vector<std::string>& shards);
  // The writes that store the start; make them before any other.
  std::vector<WriteInput> start_writes() const;
  // The writes that store the marks, in their order. Call stored() once they are made.
  std::vector<WriteInput> writes(const std::vector<std::pair<std::string, ShardMark>>& marks) const;
  void stored(const std::vector<std::pair<std::string, ShardMark>>& marks);
  // The write that removes a shard's mark. Forgets the mark.
  std::optional<WriteInput> remove(const std::string& shard);
  // The writes that remove everything.
  std::vector<WriteInput> removals() const;

 private:
  friend Async<Result<std::map<std::string, ShardCheckpoints>>> load_checkpoints(Tables& tables);
  struct Stored {
    ShardMark mark;
    uint64_t rev = 0;  // 0: it is stored with the start.
  };
  void take(const Item& item);
  std::string mark_id(const std::string& shard) const;

  std::string reader_;
  std::string label_;
  std::string arn_;
  int64_t start_ = 0;
  std::optional<WallTime> since_;
  std::map<std::string, Stored> marks_;  // By shard.
};

// All that is stored, by reader.
Async<Result<std::map<std::string, ShardCheckpoints>>> load_checkpoints(Tables& tables);

}  // namespace freshet
