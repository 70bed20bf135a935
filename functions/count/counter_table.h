// The metrics table: counters of one attribute of one table, and how far its stream has been counted, written together.
//
// Its items have the keys `counted` (S, HASH: "TABLE#ATTRIBUTE") and `metric` (S, RANGE):
//   state#LABEL          state, itemCount       how many items have that state
//   transition#FROM#TO   fromState, toState, moves
//   position             stream, sequence, counting, asOf
// Every write is a transaction that also moves the position on, on the condition that it is still where the writer saw
// it: what was counted once is never counted again, whoever else counts and whenever a write takes effect. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "functions/count/state_changes.h"
#include "tables/tables.h"

namespace freshet {

struct CountPosition {
  std::string stream;     // Label.
  uint64_t sequence = 0;  // The last record that is counted.
  std::string counting;   // Not empty: a first count is being written under that id, and nothing else here holds.
  WallTime as_of{};       // That record's time.
};

class CounterTable {
 public:
  // The store outlives it; it outlives its Asyncs.
  CounterTable(Tables& tables, std::string table, std::string counted)
      : tables_(tables), table_(std::move(table)), counted_(std::move(counted)) {}

  // kValidation if the table is not there or has other keys: says how to make it.
  Async<Result<void>> check();
  // Empty if nothing was counted yet.
  Async<Result<std::optional<CountPosition>>> position();

  // Counters that one transaction can hold beside the position.
  static constexpr size_t kMost = limits::kMaxTransactionActions - 1;
  // All or nothing; kTransactionCanceled if the position is no longer `seen`. At most kMost changes.
  Async<Result<void>> add(StateChanges changes, std::optional<CountPosition> seen, CountPosition next);
  // The number of items in each state, whatever was there; other states have none. With more than kMost of them in
  // several steps under `id`: an interrupted one is begun again by who comes next.
  Async<Result<void>> set_items(std::map<std::string, int64_t> items, std::optional<CountPosition> seen,
                                CountPosition next, std::string id);

 private:
  Item key(std::string metric) const;
  WriteInput position_write(const std::optional<CountPosition>& seen, const CountPosition& next) const;
  WriteInput items_write(const std::string& label, int64_t number, bool absolute) const;
  WriteInput moves_write(const std::string& from, const std::string& to, uint64_t number) const;
  Async<Result<std::map<std::string, int64_t>>> known_states();
  Async<Result<void>> write(std::vector<WriteInput> actions);

  Tables& tables_;
  const std::string table_;
  const std::string counted_;
};

// Says why these keys do not suit a metrics table; empty if they do.
std::optional<std::string> wrong_metrics_keys(const TableDefinition& table);

}  // namespace freshet
