// Called when an item of a table with books changes its status, is created or is removed. For the flight recorder. Loop
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "tables/value/item_ref.h"

namespace freshet {

struct StatusMove {
  uint32_t table = 0;       // The table's number. A table that is deleted and made again gets another one.
  const std::string& name;  // The table's name.
  std::string_view from;    // The status before, as the books name it; empty: the item is new.
  std::string_view to;      // The status after; empty: the item was removed.
  const ItemRef& before;    // Null if the item is new.
  const ItemRef& after;     // Null if it was removed. Its creation() is set.
  bool by_ttl = false;      // The TTL sweep removed it.
  WallTime at{};            // The time of the batch that has the change.
};

class MoveWatcher {
 public:
  virtual ~MoveWatcher() = default;
  // The change is applied, but not durable yet. Must not call the store. Views and references are valid during the
  // call.
  virtual void moved(const StatusMove& move) = 0;
};

}  // namespace freshet
