// Counts the items of a table by state as they were just before one record of its stream, while the table is written
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
  std::string label;    // The label of its current stream, which has both images.
  uint64_t before = 1;  // The sequence of the record, which must be readable.
  std::string attribute;
};

// By label, see state_label(). Reads the whole table and the stream from that record on, a page per turn, and keeps
// some 40 bytes per item meanwhile. Exact even on a store that answers late: an item that was written since counts as
// the first such record shows it. The store and the scheduler outlive it.
Async<Result<std::map<std::string, int64_t>>> count_items(Tables& tables, Scheduler& scheduler, FirstCountInput input);

}  // namespace freshet
