// The built-in function count_states: counters per value of one attribute, kept in a metrics table (counter_table.h)
// from a table's change stream. Exactly once in effect: see there.
//
// It works for any table whose stream has both images, through an event source mapping of one lane and without filters;
// an event from elsewhere or a batch with holes is an error, so that nothing from outside can spoil a number. Before
// its first record, and wherever the stream has a gap (the mapping gave records up, the stream was switched off for a
// while), it counts the table as it was before the next record; so numbers of items are right after whatever happened.
// Moves are counted from the first record on.
#pragma once

#include "base/async.h"
#include "base/log.h"
#include "runtime/invoke/function.h"

namespace freshet {

// Answers what it did: {"counted":9,"seenBefore":0,"leftOut":0,"tableCounts":0}.
Async<Result<std::string>> count_states(Context& context, const EventLog& log);

}  // namespace freshet
