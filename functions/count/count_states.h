// The built-in function count_states: keeps counters per value of one attribute in a metrics table (counter_table.h),
// from a table's change stream. Each record counts exactly once (counter_table.h says why).
//
// It works for any table whose stream has both images, through an event source mapping with one lane and without
// filters. An event from another source, or a batch with gaps, is an error, so that no counter can become wrong. Before
// its first record, and after each gap of the stream (the mapping gave up records, or the stream was off for a while),
// it counts the table as it was before the next record; so the numbers of items are always right. Moves are counted
// from the first record on.
#pragma once

#include "base/async.h"
#include "base/log.h"
#include "runtime/invoke/function.h"

namespace freshet {

// Returns the counts of its work: {"counted":9,"seenBefore":0,"leftOut":0,"tableCounts":0}.
Async<Result<std::string>> count_states(Context& context, const EventLog& log);

}  // namespace freshet
