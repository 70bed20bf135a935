// Judges what a function is given of the changes of a table, as docs/fleet.md promises it: each change at least once, a
// change of an item never before the item's earlier ones are processed, and only at the daemon that runs the mapping.
// An item's versions are its changes, from 1 on. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/clock.h"
#include "streams/shards/shard_order.h"
#include "tests/sim/fleet/units_judge.h"
#include "tests/sim/machine/verdict.h"

namespace freshet::fleet_sim {

class ChangesJudge {
 public:
  // Both outlive it. `units`: who serves the mapping's unit.
  ChangesJudge(sim::Verdict& verdict, const UnitsJudge& units) : verdict_(verdict), units_(units) {}

  // A client writes that version, and knows later that it is there.
  void sent(const std::string& item, int64_t version) { items_[item].sent = version; }
  void written(const std::string& item, int64_t version) { items_[item].written.insert(version); }

  // The function is given an event, and is done with it.
  void started(const std::string& node, const nlohmann::json& event, BootTime now);
  void done(const nlohmann::json& event);

  // The position in a shard, as the engine has it.
  void position(const std::string& id, ShardMark mark);

  // Empty: all changes that are known to be written are processed.
  std::string unprocessed() const;
  uint64_t deliveries() const { return deliveries_; }

 private:
  struct Item {
    int64_t sent = 0;
    std::set<int64_t> written;
    std::set<int64_t> processed;
  };

  sim::Verdict& verdict_;
  const UnitsJudge& units_;
  std::map<std::string, Item> items_;
  std::map<std::string, ShardMark> positions_;
  uint64_t deliveries_ = 0;
};

}  // namespace freshet::fleet_sim
