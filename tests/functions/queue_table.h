// The table of a queue as tests make it: what the shipped template has.
#pragma once

#include "tables/definition.h"

namespace freshet {

inline TableDefinition queue_table() {
  TableDefinition table;
  table.name = "QueueTable";
  table.keys = {{"taskId", Type::kString}, {}};
  KeySchema keys{{"taskStatus", Type::kString}, KeyAttribute{"taskCreated", Type::kNumber}};
  table.indexes.push_back({"task-status-created-index", keys, false, Projection::kAll, {}});
  table.stream = StreamView::kKeysOnly;
  table.ttl_attribute = "ttl";
  return table;
}

}  // namespace freshet
