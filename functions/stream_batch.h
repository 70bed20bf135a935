// The event of the functions in this folder that follow a table's stream.
#pragma once

#include "base/result.h"
#include "runtime/invoke/payload.h"

namespace freshet {

// The batch of an event source mapping; kValidation for any other event, because any client can send a text that looks
// like records of a stream.
Result<const StreamBatch*> stream_batch(const Payload& event, std::string_view handler);

}  // namespace freshet
