// Checks fixtures of queues.
#pragma once

#include "streams/fixture.h"

namespace freshet {

// kValidation if an item or an image has a `taskStatus` that is not a state. The message has the line, the valid states
// and the most similar one. An item whose `taskStatus` is missing or not a string is not a task.
Result<void> check_states(const Fixture& fixture);

}  // namespace freshet
