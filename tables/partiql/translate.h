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

// The reads of a SELECT: queries one after the other, or one scan.
struct SelectPlan {
  const Statement* statement = nullptr;  // Outlives the plan.
  KeySchema keys;                        // The keys of the table or the index.
  bool local_index = false;
  bool scans = false;
  std::vector<KeyRead> reads;  // Empty for a scan; in the order of the result.
  bool forward = true;         // The direction within each read.
  bool consistent = false;
  size_t weight = 0;  // The most operands and paths that are looked for in each item.

  size_t steps() const { return scans ? 1 : reads.size(); }
};
Result<SelectPlan> plan_select(const Statement& statement, const TableDefinition& table, bool consistent);
QueryInput query_of(const SelectPlan& plan, size_t read);
ScanInput scan_of(const SelectPlan& plan);

// A SELECT of one item by its key alone, as batches and transactions have it.
enum class Within { kBatch, kTransaction };
Result<GetItemInput> get_of(const Statement& statement, const TableDefinition& table, Within within);

// A kInsert, kUpdate or kDelete; of a transaction kExists too. In a transaction the store checks the key, so that a
// fault becomes a cancellation reason. If an INSERT finds an item, its condition fails.
Result<WriteInput> write_of(const Statement& statement, const TableDefinition& table, bool in_transaction);

// True if the columns of the result are not just attributes of the items: then columns_of() makes them.
bool has_paths(const Statement& statement);
Item columns_of(const Statement& statement, const ItemRef& item);

}  // namespace freshet::partiql
