// The surroundings of a replay of ordered writes: simulated time, a store in memory that answers late, and one table.
// Internal to replay.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "functions/ordered/guarded_table.h"
#include "runtime/loop/sim_loop.h"
#include "runtime/replay/late_tables.h"
#include "streams/fixture.h"
#include "tables/engine/embedded.h"

namespace freshet::ordered {

// One write of a fixture.
struct Record {
  size_t number = 0;  // Its number in the fixture, from 1.
  std::string place;  // The same for messages.
  std::variant<OrderedPut, OrderedDelete, OrderedUpdate> write;
  Item key;
  Value stamp;
  WallTime stamped{};  // The same by the clock; for tokens, the start.
  WallTime arrived{};  // As in the fixture.
};
std::string_view write_name(const Record& record);  // "put", "delete", "update"

struct Delivery {
  const Record* record = nullptr;
  WallTime at{};
};

class ReplayWorld {
 public:
  // The clock begins at `start`.
  ReplayWorld(const Settings& settings, const KeySchema& keys, WallTime start, uint64_t seed);
  ~ReplayWorld() { loop_.loop().remove(*store_); }
  ReplayWorld(const ReplayWorld&) = delete;
  ReplayWorld& operator=(const ReplayWorld&) = delete;

  GuardedTable& table() { return *table_; }
  WallTime now() const { return clock_.wall(); }
  void advance_to(WallTime when);
  Result<void> fill(const Fixture& fixture);
  OrderedResult write(const Record& record);

  // Each writer makes its deliveries one after the other, none before its time; all writers at once. Ends at `end`.
  // Outcomes are counted by name.
  void deliver(const std::vector<std::vector<Delivery>>& of_writers, WallTime end,
               std::map<std::string, uint64_t>& outcomes);

  // All items of the table, tombstones too, in the item store's JSON. They are sorted by the JSON of their keys.
  std::map<std::string, std::string> items();

 private:
  Async<OrderedResult> begin(const Record& record);
  static Async<void> work(ReplayWorld& world, std::vector<Delivery> deliveries,
                          std::map<std::string, uint64_t>& outcomes);
  template <class T>
  T wait(Async<T> work);

  SimClock clock_;
  SimLoop loop_{clock_};
  Random random_;
  std::unique_ptr<EmbeddedTables> store_;
  LateTables late_;
  std::unique_ptr<GuardedTable> table_;
};

}  // namespace freshet::ordered
