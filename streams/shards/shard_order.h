// Puts the records of all shards of a stream into one order, with numbers of its own, and keeps them until they are
// processed. A shard's records keep their order; whoever adds a child's records only after its parent has ended keeps
// the order of each item. Pure; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "streams/shards/engine_streams.h"

namespace freshet {

// A position in a shard: what is before it has been processed.
struct ShardMark {
  std::string after;  // The engine's number of the last processed record; empty: none yet.
  bool over = false;  // True if the shard has ended, and all of it is processed.
  bool operator==(const ShardMark&) const = default;
};

// True if `mark` is surely behind `other`, a mark of the same shard. An engine's numbers are decimal.
bool is_behind(const ShardMark& mark, const ShardMark& other);

class ShardOrder {
 public:
  // `first`: the number of the first record, at least 1.
  explicit ShardOrder(uint64_t first) : oldest_(first) {}

  // Adds a record of a shard behind all others.
  void add(const std::string& shard, ShardRecord record);
  // The shard's records up to `number` are passed over. Takes a number, too, as does end().
  void pass(const std::string& shard, std::string number);
  void end(const std::string& shard);

  uint64_t oldest() const { return oldest_; }                  // The first number that is still kept.
  uint64_t next() const { return oldest_ + entries_.size(); }  // The number of the next record.
  size_t bytes() const { return bytes_; }                      // An estimate of what the kept records take.

  // The records from `from` on, at least one if there is one. `from` must not be below oldest().
  StreamPage page(uint64_t from, uint32_t limit, size_t max_bytes) const;

  using Name = RecordName;
  // The engine's names of a kept record; null for any other number. Valid until processed() removes it.
  const Name* name(uint64_t sequence) const;

  // Everything before `next` is processed: forgets it. Returns the new marks, a shard once. They are in the order of
  // the shards' last records, so that a parent comes before its children.
  std::vector<std::pair<std::string, ShardMark>> processed(uint64_t next);

 private:
  struct Entry {
    Name name;
    std::optional<ChangeRecord> record;  // Empty: only the mark moves on.
    bool over = false;
    size_t bytes = 0;
  };
  void push(Entry entry);

  uint64_t oldest_;
  std::deque<Entry> entries_;
  size_t bytes_ = 0;
};

}  // namespace freshet
