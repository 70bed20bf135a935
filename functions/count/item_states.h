// The memory of count_states on an engine, in the metrics table: the state as which each item of the table counts, and
// how far each shard of its stream is counted. Items of the metrics table:
//   TABLE#ATTRIBUTE#items#X   item#HASH     state, round
//   TABLE#ATTRIBUTE#shards    shard#SHARD   stream, number, asOf
// HASH is that of the item's key (key_hash.h), X its first digit: so the items are in several partitions.
//
// The writes that it returns are to be made together with that of the position (counter_table.h). Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/async.h"
#include "functions/count/key_hash.h"
#include "tables/tables.h"

namespace freshet {

struct ItemState {
  std::string state;  // See state_label().
  std::string round;  // The table count that has seen it last, or in which it was added.
};

struct CountedShard {
  std::string stream;  // Label.
  std::string number;  // The engine's number of the last record that is counted.
  WallTime as_of{};    // Its time.
};

class ItemStates {
 public:
  static constexpr size_t kParts = 16;

  // The store outlives it; it outlives its Asyncs. `counted`: "TABLE#ATTRIBUTE".
  ItemStates(Tables& tables, std::string table, std::string counted)
      : tables_(tables), table_(std::move(table)), counted_(std::move(counted)) {}

  // Those that are there.
  Async<Result<std::map<KeyHash, ItemState>>> items(std::vector<KeyHash> hashes);
  struct Page {
    std::vector<std::pair<KeyHash, ItemState>> items;
    Item next;  // The start of the next page; empty: there is none.
  };
  // A page of one of kParts.
  Async<Result<Page>> page(size_t part, Item start);
  WriteInput put(const KeyHash& hash, ItemState state) const;
  WriteInput removal(const KeyHash& hash) const;

  Async<Result<std::map<std::string, CountedShard>>> shards(std::vector<std::string> names);
  WriteInput put_shard(const std::string& name, const CountedShard& shard) const;
  // Removes the shards whose last record is older than that, as far as the store lets it.
  Async<void> forget_shards(WallTime before);

 private:
  Item key(const KeyHash& hash) const;
  Item shard_key(const std::string& name) const;
  Async<Result<std::vector<ItemRef>>> read(std::vector<Item> keys);

  Tables& tables_;
  const std::string table_;
  const std::string counted_;
};

}  // namespace freshet
