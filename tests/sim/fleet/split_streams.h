// The stream of a simulated engine as many shards, although the engine itself has it as one: shards are split and
// merged as changes come, lists have pages and now and then lack a new shard, and shards that a reader is done with may
// be trimmed. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "streams/shards/engine_streams.h"
#include "tests/sim/machine/trace.h"

namespace freshet::fleet_sim {

// The shards, the same for all daemons and through all their lives.
class ShardTree {
 public:
  static constexpr int kSlots = 12;  // Each key belongs to one; a shard has the keys of some of them.

  struct Shard {
    std::string id;
    std::vector<std::string> parents;
    int from = 0;  // Slots.
    int to = kSlots;
    uint64_t first = 1;  // Its changes have numbers from that on,
    uint64_t end = 0;    // and below that one. 0: it is open.
    bool is_trimmed = false;

    bool has(int slot, uint64_t number) const {
      return from <= slot && slot < to && number >= first && (end == 0 || number < end);
    }
  };

  // `readers`: how many there are. The trace outlives it.
  ShardTree(uint64_t seed, size_t readers, sim::Trace& trace);

  // A reader has come to the change of that number: what was to happen before it has happened.
  void saw(uint64_t number);
  // The reader whose name `mark` begins with has finished the shard whose id it ends with.
  void over(const std::string& mark);
  // One page of a list, as an engine gives it.
  ShardPage list(EngineStream stream, const std::string& after);
  // From now on lists lack nothing.
  void lists_are_whole() { lacks_some_ = false; }
  // Null: there is none, or it has been trimmed.
  const Shard* find(const std::string& id) const;

 private:
  std::vector<size_t> open() const;
  void change(uint64_t number);
  void split(size_t which, uint64_t number);
  void merge(size_t one, size_t other, uint64_t number);
  void add(std::vector<std::string> parents, int from, int to, uint64_t first);

  Random random_;
  const size_t readers_;
  sim::Trace& trace_;
  std::vector<Shard> shards_;
  std::map<std::string, std::set<std::string>> finished_by_;  // By shard: readers.
  bool lacks_some_ = true;
  uint64_t next_ = 0;  // The number before which the next change of the shards happens.
};

class SplitStreams final : public EngineStreams {
 public:
  // Both outlive it.
  SplitStreams(EngineStreams& engine, ShardTree& tree) : engine_(engine), tree_(tree) {}

  Async<Result<EngineStream>> stream_of(std::string table) override { return engine_.stream_of(std::move(table)); }
  Async<Result<ShardPage>> shards(std::string arn, std::string after) override;
  Async<Result<std::string>> iterator(std::string arn, std::string shard, ShardStart start, std::string after) override;
  Async<Result<ShardRecords>> records(std::string iterator) override;
  std::optional<WallTime> engine_time() const override { return engine_.engine_time(); }

 private:
  EngineStreams& engine_;
  ShardTree& tree_;
  std::string whole_;  // The id of the engine's only shard; empty: not known yet.
};

}  // namespace freshet::fleet_sim
