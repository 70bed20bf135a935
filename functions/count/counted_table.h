// The table whose stream count_states is called with.
#pragma once

#include <optional>

#include "base/async.h"
#include "base/log.h"
#include "runtime/invoke/function.h"
#include "streams/arn.h"

namespace freshet {

// Empty if the table is gone or has another stream by now, which the event COUNT_LEFT_OUT reports: then it is counted
// with that one.
Async<Result<std::optional<TableDescription>>> counted_table(Context& context, const EventLog& log,
                                                             const StreamName& stream);

}  // namespace freshet
