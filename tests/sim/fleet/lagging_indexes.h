// The secondary indexes of a store as they were some time ago, each class of indexes by a lag of its own: copies of its
// tables that follow later. Loop thread; everything that it refers to outlives it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "runtime/loop/loop.h"
#include "tables/engine/embedded.h"
#include "tests/sim/fleet/engine_faults.h"

namespace freshet::fleet_sim {

class LaggingIndexes {
 public:
  LaggingIndexes(Tables& store, Loop& loop, EngineFaults& faults);
  LaggingIndexes(const LaggingIndexes&) = delete;
  LaggingIndexes& operator=(const LaggingIndexes&) = delete;
  ~LaggingIndexes();

  // The table is there from now on, or has other indexes, or is gone.
  void changed(const std::string& table);
  // The item with that key was written.
  void wrote(const std::string& table, const Item& key);
  // The store whose index is to be read, as it is now.
  Tables& behind(const std::string& table, const std::string& index);

 private:
  struct Change {
    BootTime due{};
    std::string table;
    Item key;
    ItemRef item;  // Null: it is gone.
  };
  struct Copy {
    std::unique_ptr<EmbeddedTables> store;
    std::deque<Change> changes;
  };

  void follow(Copy& copy);
  void begin_table(const std::string& table);

  Tables& store_;
  Loop& loop_;
  EngineFaults& faults_;
  Random random_;
  std::vector<Copy> copies_;
  std::set<std::string> known_;
};

}  // namespace freshet::fleet_sim
