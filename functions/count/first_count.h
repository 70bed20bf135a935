// How many items of a table had which state just before one record of its stream, worked out while the table is written
// to.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/async.h"
#include "base/scheduler.h"
#include "tables/tables.h"

namespace freshet {

struct FirstCountInput {
  KeySchema keys;  // The table's keys.
  std::string table;
  std::string label;    // The label of the stream that it has now, which has both images.
  uint64_t before = 1;  // The sequence of the record. It can be read.
  std::string attribute;
};

// By label, see state_label(). Reads the whole table and the stream from that record on, a page a turn, and keeps some
// 40 bytes an item meanwhile. Exact also over a store that answers late: an item that was written since is taken as the
// first such record says it was. The store and the scheduler outlive it.
Async<Result<std::map<std::string, int64_t>>> count_items(Tables& tables, Scheduler& scheduler, FirstCountInput input);

}  // namespace freshet
