// Counts a whole table of a remote engine by state, and remembers the state of each item (engine_count.h). Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "functions/count/counter_table.h"
#include "functions/count/item_states.h"
#include "runtime/invoke/function.h"

namespace freshet {

class EngineTableCount {
 public:
  // `position`: the stored one, which each write moves on. All outlive it.
  EngineTableCount(Context& context, std::string_view attribute, CounterTable& counters, ItemStates& states,
                   std::optional<CountPosition>& position)
      : context_(context), attribute_(attribute), counters_(counters), states_(states), position_(position) {}

  // Writes the counters, and then the position. Returns the number of states. `begun`: the position at which it begins,
  // with its round; with a cursor, that of an interrupted count, which goes on behind it.
  Async<Result<size_t>> run(TableDescription table, CountPosition begun);

 private:
  Async<Result<void>> advance(CountPosition next, std::vector<WriteInput> writes);
  Async<Result<void>> scan(const TableDefinition& table);
  Async<Result<void>> remember(std::vector<ItemRef> items, const KeySchema& keys);
  Async<Result<std::map<std::string, int64_t>>> sum_up();
  Async<Result<void>> remove(std::vector<WriteInput> gone);

  Context& context_;
  const std::string_view attribute_;
  CounterTable& counters_;
  ItemStates& states_;
  std::optional<CountPosition>& position_;
};

}  // namespace freshet
