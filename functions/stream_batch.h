// The event of those functions of this folder that follow a table's stream.
#pragma once

#include "base/result.h"
#include "runtime/invoke/payload.h"

namespace freshet {

// The batch of an event source mapping; kValidation for any other event: a stream's records in a text may be anybody's.
Result<const StreamBatch*> stream_batch(const Payload& event, std::string_view handler);

}  // namespace freshet
