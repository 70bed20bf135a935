// The metrics table: counters of one attribute of one table, and the position in its stream, written together.
//
// Its items have the keys `counted` (S, HASH: "TABLE#ATTRIBUTE") and `metric` (S, RANGE):
//   state#LABEL          state, itemCount       how many items have that state
//   transition#FROM#TO   fromState, toState, moves
//   position             stream, sequence, counting, asOf; on an engine also continuity, round, cursor and countedAt
// Every write is a transaction that also advances the position, on the condition that it is unchanged since the writer
// read it. So no record is counted twice, whoever else counts and whenever a write takes effect. Loop thread.
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
  std::string counting;   // If not empty, a first count with that id is being written, and the other members do not
                          // apply.
  WallTime as_of{};       // The time of that record.

  // On an engine only (engine_count.h). There `sequence` is the number of writes so far, `as_of` the time of the latest
  // change that is counted, and all members apply while a count is being written: another daemon goes on with it.
  std::string continuity = {};  // StreamBatch::continuity of that record.
  std::string round = {};       // The id of the table count that is in force, or is being made.
  Item cursor = {};             // While it is being made: the key of the last item that it has counted.
  WallTime counted_at{};        // The time at which it began.
};

class CounterTable {
 public:
  // The store outlives it; it outlives its Asyncs.
  CounterTable(Tables& tables, std::string table, std::string counted)
      : tables_(tables), table_(std::move(table)), counted_(std::move(counted)) {}

  // kValidation if the table does not exist or has other keys: the message says how to make it.
  Async<Result<void>> check();
  // Empty if nothing was counted yet.
  Async<Result<std::optional<CountPosition>>> position();

  // The most counters in one transaction beside the position.
  static constexpr size_t kMost = limits::kMaxTransactionActions - 1;
  // All or nothing; kTransactionCanceled if the position is no longer `seen`. At most kMost changes and other writes,
  // `with`.
  Async<Result<void>> add(StateChanges changes, std::optional<CountPosition> seen, CountPosition next,
                          std::vector<WriteInput> with = {});
  // Sets the number of items in each state; all other states have none. More than kMost states are written in several
  // steps under `id`: the next caller starts an interrupted one again.
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
