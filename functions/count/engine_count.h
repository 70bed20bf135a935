// count_states for a table of a remote engine. Its stream consists of shards, so its changes have no one order, and
// nothing tells which of them a read of the whole table has seen. Therefore the state as which each item counts is kept
// in the metrics table (item_states.h):
//
// - A table count stores the state of each item as a read of the table shows it.
// - Each change then moves its item from the state as which it counts, whatever its old image says. A change from just
//   before the table count sets an item back for as long as the changes behind it are not counted, which come later.
//   So the numbers of items are right once the stream is read to its end, and stay so.
// - A change that is older than the table count by an hour only counts as a move: what followed it may be lost, as an
//   engine keeps changes for 24 hours.
// - The states, the counters and how far each shard is counted are written in one transaction with the position, on
//   the condition that it is unchanged. So each change counts once.
//
// The table is counted again whenever changes may be missing: with a new stream, after a loss
// (StreamBatch::continuity), and if no change of the last 20 hours was counted. An interrupted table count goes on
// where it was, but for its end, which sums up the states of all items in one invocation. Loop thread.
#pragma once

#include "base/async.h"
#include "base/log.h"
#include "functions/count/count_settings.h"
#include "functions/count/count_tally.h"
#include "runtime/invoke/function.h"
#include "streams/arn.h"

namespace freshet {

// `batch` has the names of its records. kValidation if its mapping may leave records out, or if records have no times
// or images.
Async<Result<CountTally>> count_on_engine(Context& context, const EventLog& log, const CountSettings& settings,
                                          StreamName stream, const StreamBatch& batch);

}  // namespace freshet
