// A table whose writes are ordered by their timestamps: an older one never overwrites a newer one, whenever it arrives
// and however often, and a delete leaves a tombstone (docs/ordered-writes.md). Every write is one conditional write of
// the store seam, so other programs may write too, and the store may answer at once or late and out of step. Only a put
// or delete that meets a newer guarded update reads and then writes again.
//
// In memory it keeps only the last timestamp that it gave. Loop thread. Outlives every Async that it returned; the
// tables and the clock outlive it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "functions/ordered/definition.h"
#include "functions/ordered/policy/effective_time.h"
#include "functions/ordered/policy/guard.h"
#include "runtime/api/ordered_writes.h"

namespace freshet::ordered {

class GuardedTable final : public OrderedWrites {
 public:
  // Makes the table if it is not there, and turns on its TTL. kValidation for wrong settings and tables that cannot
  // have ordered writes.
  static Async<Result<std::unique_ptr<GuardedTable>>> open(Tables& tables, const Clock& clock, Definition definition);
  GuardedTable(const GuardedTable&) = delete;
  GuardedTable& operator=(const GuardedTable&) = delete;

  const std::string& name() const override { return settings_.name; }
  const Settings& settings() const { return settings_; }
  const KeySchema& keys() const { return keys_; }

  // The timestamp of this write, for a caller that repeats it. Refused if there is none or it is not valid.
  std::variant<Value, Refusal> stamp_of_put(const OrderedPut& input);
  std::variant<Value, Refusal> stamp_of_delete(const OrderedDelete& input);
  std::variant<Value, Refusal> stamp_of_update(const OrderedUpdate& input);

  Async<OrderedResult> put(OrderedPut input) override;
  Async<OrderedResult> erase(OrderedDelete input) override;
  Async<OrderedResult> update(OrderedUpdate input) override;
  Async<Result<ItemRef>> get(OrderedGet input) override;
  Async<std::vector<Result<ItemRef>>> batch_get(std::vector<OrderedGet> inputs) override;
  Async<Result<Page>> query(OrderedQuery input) override;
  Async<Result<Page>> scan(OrderedScan input) override;

 private:
  GuardedTable(Tables& tables, const Clock& clock, Settings settings, KeySchema keys);

  // guarded_table.cc
  std::variant<Value, Refusal> stamp_in(const std::optional<Value>& given, const Item& record, const Value* own,
                                        const Map* more);
  std::optional<Refusal> begin(Write& write, std::variant<Value, Refusal> stamp) const;
  std::optional<Refusal> check_put(const OrderedPut& input) const;
  std::optional<Refusal> check_key(const Item& key) const;
  std::optional<Refusal> check_update(const OrderedUpdate& input) const;
  OrderedResult applied(const Write& write) const;
  OrderedResult refused(Refusal refusal, std::optional<Value> stamp = {}) const;
  OrderedResult failed(const Error& error, const Write& write) const;
  OrderedResult older(const Write& write, const Facts* facts, const ItemRef& found) const;
  Item key_of(const Item& item) const;
  std::variant<Facts, OrderedResult> facts_of(const Write& write, const ItemRef& found) const;
  OrderedResult result_of(const Result<WriteOutput>& written, const Write& write) const;
  Async<OrderedResult> answer(Async<Result<WriteOutput>> writing, Write write) const;
  PutItemInput guarded_put(Item item, const Write& write) const;
  Async<OrderedResult> write_whole(Item&& item, Write&& write) const;  // Not a coroutine: nothing of the arguments is
                                                                       // kept.
  Async<OrderedResult> write_over_updates(Item item, Write write);
  UpdateItemInput update_of(OrderedUpdate input, const Write& write) const;

  // guarded_table_read.cc
  GetItemInput get_of(OrderedGet input) const;
  ItemRef shown(ItemRef item, bool tombstones) const;
  template <class Input>
  Result<void> leave_out_tombstones(Input& input) const;

  Tables& tables_;
  const Clock& clock_;
  const Settings settings_;
  const KeySchema keys_;
  const Guard guard_;
  std::vector<std::string> kept_;  // Attributes that records may not contain.
  WallTime last_stamp_{};          // Keeps timestamps from getting older if the clock steps back, by max_skew at most.
};

}  // namespace freshet::ordered
