// Turns parsed statements into the operations of the store. Pure functions of a statement and the definition of the
// table that it names. kValidation with the service's texts.
#pragma once

#include <string>
#include <vector>

#include "tables/definition.h"
#include "tables/partiql/key_reads.h"
#include "tables/partiql/statement.h"
#include "tables/tables.h"

namespace freshet::partiql {

// How a SELECT is read: by queries one after the other, or by one scan.
struct SelectPlan {
  const Statement* statement = nullptr;  // Outlives the plan.
  KeySchema keys;                        // Of the table or the index.
  bool local_index = false;
  bool scans = false;
  std::vector<KeyRead> reads;  // Unless it scans; in the order of the result.
  bool forward = true;         // Within each of them.
  bool consistent = false;
  size_t weight = 0;  // What is looked for in an item that is read, at most.

  size_t steps() const { return scans ? 1 : reads.size(); }
};
Result<SelectPlan> plan_select(const Statement& statement, const TableDefinition& table, bool consistent);
QueryInput query_of(const SelectPlan& plan, size_t read);
ScanInput scan_of(const SelectPlan& plan);

// A SELECT of one item by its key and nothing else, as batches and transactions have them.
enum class Within { kBatch, kTransaction };
Result<GetItemInput> get_of(const Statement& statement, const TableDefinition& table, Within within);

// A kInsert, kUpdate or kDelete; of a transaction kExists too. There the store finds out what is wrong with a key, so
// that it becomes a reason to cancel. Where an INSERT finds an item, its condition fails.
Result<WriteInput> write_of(const Statement& statement, const TableDefinition& table, bool in_transaction);

// Whether the columns of the result are not just attributes of the items: then columns_of() makes them.
bool has_paths(const Statement& statement);
Item columns_of(const Statement& statement, const ItemRef& item);

}  // namespace freshet::partiql
