// A client of ordered writes that hedges: reads and writes that take longer than the observed 95th percentile are sent
// a second time, and calls that the store refuses for now are tried again. A write gets its timestamp once, at its
// first attempt; its hedge and its retries have that timestamp, so that none of them can overwrite a write that was
// made meanwhile. The daemon does not use it: it is for C++ programs with the library (docs/ordered-writes.md).
//
// Loop thread. Works on any table with ordered writes, wherever its store is. Outlives every Async that it returned;
// table, scheduler and random outlive it.
#pragma once

#include "functions/ordered/guarded_table.h"
#include "functions/ordered/hedger.h"

namespace freshet::ordered {

class HedgedWrites final : public OrderedWrites {
 public:
  HedgedWrites(GuardedTable& table, Scheduler& scheduler, Random& random, HedgeSettings settings = {})
      : table_(table), reads_(scheduler, random, settings), writes_(scheduler, random, settings) {}

  const std::string& name() const override { return table_.name(); }
  const HedgeCounts& read_counts() const { return reads_.counts(); }
  const HedgeCounts& write_counts() const { return writes_.counts(); }

  // For a write that was hedged or tried again, OLDER may also mean that its first attempt was carried out and then
  // overwritten by a newer write: in both cases it is done.
  Async<OrderedResult> put(OrderedPut input) override;
  Async<OrderedResult> erase(OrderedDelete input) override;
  Async<OrderedResult> update(OrderedUpdate input) override;
  Async<Result<ItemRef>> get(OrderedGet input) override;
  Async<std::vector<Result<ItemRef>>> batch_get(std::vector<OrderedGet> inputs) override;
  Async<Result<Page>> query(OrderedQuery input) override;
  Async<Result<Page>> scan(OrderedScan input) override;

 private:
  template <class Input>
  Async<OrderedResult> write(Input input, Async<OrderedResult> (GuardedTable::*call)(Input),
                             std::variant<Value, Refusal> (GuardedTable::*stamp)(const Input&));
  template <class T, class Input>
  Async<T> read(Input input, Async<T> (GuardedTable::*call)(Input), bool (*again)(const T&));

  GuardedTable& table_;
  Hedger reads_;
  Hedger writes_;
};

}  // namespace freshet::ordered
